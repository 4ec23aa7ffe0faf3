import { GrpcClient, type GrpcClientComponents, type GrpcClientOptions } from './client.ts';
import { GrpcServer, type GrpcServerOptions } from './server.ts';

/** Creates clients and servers that connect by socket path. */
export interface GrpcTransport {
  client(
    components: GrpcClientComponents,
    options: GrpcClientOptions & { readonly socketPath: string },
  ): Pick<GrpcClient, 'connect' | 'unary' | 'stream' | 'close'>;
  server(options: GrpcServerOptions): Pick<GrpcServer, 'start' | 'close'>;
}

/** gRPC over the machine's unix sockets. */
export const unixSockets: GrpcTransport = {
  client: (components, options) => new GrpcClient(components, options),
  server: (options) => new GrpcServer(options),
};
