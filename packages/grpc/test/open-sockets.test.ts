import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { OpenSockets } from '../src/open-sockets.ts';

class Fake extends EventEmitter {
  bytesRead = 0;
  isDestroyed = false;
  destroy = (): void => {
    this.isDestroyed = true;
    this.emit('close');
  };
}

it.each<readonly [string, readonly number[], number]>([
  ['the oldest idle one', [], 0],
  ['the oldest idle one, even if connections in use are older', [0, 1], 2],
  ['the oldest one if all are in use', [0, 1, 2], 0],
])('a connection above the limit of a gRPC server replaces %s', (_which, inUse, destroyed) => {
  const sockets = new OpenSockets(3);
  const fakes = [new Fake(), new Fake(), new Fake()];
  for (const fake of fakes) sockets.add(fake as unknown as Socket);
  for (const index of inUse) (fakes[index] as Fake).bytesRead = 9;
  const newest = new Fake();
  sockets.add(newest as unknown as Socket);
  expect(fakes.map(({ isDestroyed }) => isDestroyed)).toEqual(fakes.map((_, index) => index === destroyed));
  expect(newest.isDestroyed).toBe(false);
});
