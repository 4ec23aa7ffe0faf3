import { GrpcClient, type GrpcClientComponents, type GrpcClientOptions } from './client.ts';
import { GrpcServer, type GrpcServerOptions } from './server.ts';

/** How clients and servers are made that meet at the paths of sockets. */
export interface GrpcTransport {
  client(
    components: GrpcClientComponents,
    options: GrpcClientOptions & { readonly socketPath: string },
  ): Pick<GrpcClient, 'connect' | 'unary' | 'stream' | 'close'>;
  server(options: GrpcServerOptions): Pick<GrpcServer, 'start' | 'close'>;
}

/** gRPC over the unix sockets of the machine. */
export const unixSockets: GrpcTransport = {
  client: (components, options) => new GrpcClient(components, options),
  server: (options) => new GrpcServer(options),
};
