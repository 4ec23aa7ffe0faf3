// Serves the echo RPC at the socket path of the first argument, until the process is killed.
import { GrpcServer, service } from '../../src/index.ts';
import { echo } from './echo-rpc.ts';

const [socketPath = ''] = process.argv.slice(2);
const services = [service({ echo }, { echo: async ({ text }) => ({ text }) })];
await new GrpcServer({ socketPath, services }).start();
process.send?.('ready');
