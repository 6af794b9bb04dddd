import sys

if sys.argv[1:2] == ["caller"]:
    from rpclab_servers.caller import program

    sys.exit(program.main())

from rpclab_servers import server

server.main()
