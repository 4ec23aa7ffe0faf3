// Listens at the socket path of the first argument, never reads, and sends 50,000 PINGs and then GOAWAY, or, if the
// second argument is `violation`, a PING that violates HTTP/2.
import { createServer } from 'node:net';
import * as h2 from '../../src/lean/frame.ts';

const [socketPath = '', end] = process.argv.slice(2);
const pings = Buffer.concat(Array.from({ length: 50_000 }, () => h2.frame(h2.PING, 0, 0, Buffer.alloc(8))));
const last = end === 'violation' ? h2.frame(h2.PING, 0, 7, Buffer.alloc(8)) : h2.numbersFrame(h2.GOAWAY, 0, 0, 0);
const server = createServer({ pauseOnConnect: true }, (socket) => {
  socket.on('error', () => {});
  socket.write(Buffer.concat([h2.settingsFrame([]), pings, last]));
});
server.listen(socketPath, () => process.send?.('ready'));
