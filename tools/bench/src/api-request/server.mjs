// An API server for main.mjs in a process of its own: HTTP/2 over TLS, and the same response to every request. The
// first message that it receives contains certificate, key and response; the message that it sends is its port.
import { createSecureServer } from 'node:http2';

process.once('message', ({ cert, key, answer }) => {
  const headers = { ':status': 200, 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) };
  const server = createSecureServer({ cert, key, settings: { maxConcurrentStreams: 250 } });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.resume();
    stream.on('end', () => {
      stream.respond(headers);
      stream.end(answer);
    });
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
});
process.once('disconnect', () => process.exit());
