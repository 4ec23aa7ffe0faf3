import { expect, test } from 'vitest';
import { SpdyConnection } from '../src/index.ts';

test.each([
  [{ maxStreams: 0 }, 'maxStreams must be a whole number of at least 1, not 0'],
  [{ maxStreams: 1.5 }, 'maxStreams must be a whole number of at least 1, not 1.5'],
  [{ maxStream: 5 }, 'unknown option maxStream; the options are role, onStream, maxStreams, head'],
  [{ role: 'clinet' }, 'role must be client or server, not "clinet"'],
])('SpdyConnection rejects the options %j with an error that names the wrong option', (options, message) => {
  const make = () => new SpdyConnection({} as never, { role: 'client', ...options } as never);
  expect(make).toThrow(expect.objectContaining({ code: 'InvalidOptions', message: `SpdyConnection: ${message}` }));
});

test.each([
  [undefined, 'component socket is missing'],
  [{}, 'component socket has no method on'],
])('SpdyConnection rejects %o in place of a socket', (socket, message) => {
  expect(() => new SpdyConnection(socket as never, { role: 'client' })).toThrow(message);
});
