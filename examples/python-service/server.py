"""Serves orders.proto, with reflection: python server.py HOST:PORT [CERTIFICATE KEY]"""

import pathlib
import signal
import sys
import time
from concurrent import futures

import grpc
from grpc_reflection.v1alpha import reflection

orders, services = grpc.protos_and_services("orders.proto")


def order(customer, n):
    return orders.Order(id=f"{customer}-{n}", customer_id=customer, total=9.5 * n)


class Orders(services.OrdersServicer):
    def Get(self, request, context):
        return orders.GetResponse(orders=[order(request.customer_id, n) for n in range(20)])

    def Watch(self, request, context):
        n = 0
        while context.is_active():
            yield order(request.customer_id, n)
            n += 1
            time.sleep(0.1)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=100))
services.add_OrdersServicer_to_server(Orders(), server)
reflection.enable_server_reflection(("orders.v1.Orders", reflection.SERVICE_NAME), server)
if len(sys.argv) == 2:
    server.add_insecure_port(sys.argv[1])
else:
    certificate, key = (pathlib.Path(name).read_bytes() for name in sys.argv[2:])
    server.add_secure_port(sys.argv[1], grpc.ssl_server_credentials([(key, certificate)]))
signal.signal(signal.SIGTERM, lambda *_: server.stop(grace=10))
server.start()
print("orders listen at", sys.argv[1], flush=True)
server.wait_for_termination()
