import sys

match sys.argv[1:2]:
    case ["caller"]:
        from rpclab_servers.caller import program

        sys.exit(program.main())
    case ["gateway"]:
        from rpclab_servers.gateway import program

        program.main(sys.argv[2:])
    case _:
        from rpclab_servers import server

        server.main()
