// From packages/spdy/README.md, which explains the program.
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SpdyConnection } from '@node-agent/spdy';

// In place of these: the two ends of a connection that was upgraded to SPDY/3.1.
const [near, far] = duplexPair();
new SpdyConnection(far, {
  role: 'server',
  onStream: (stream) => {
    stream.write(`${stream.headers.streamtype}: `);
    stream.pipe(stream);
    return true;
  },
});
const client = new SpdyConnection(near, { role: 'client' });
const stream = await client.open({ streamType: 'data' });
stream.end('hello');
console.log(await text(stream));
client.close();
await client.closed;
