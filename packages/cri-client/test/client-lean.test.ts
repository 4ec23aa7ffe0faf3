import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CriClient } from '../src/index.ts';
import { clientCases } from './client-cases.ts';
import { serve, socketDirectory } from './fake-server.ts';

clientCases('lean');

describe('lists over the lean transport', () => {
  let directory: ReturnType<typeof socketDirectory>;
  beforeEach(() => {
    directory = socketDirectory();
  });
  afterEach(() => directory.remove());

  it('lists over the lean transport use the plain RPC; after a list was too large, lists of its kind use only the streaming RPC', async () => {
    const socket = `${directory.path}/cri.sock`;
    const asked: string[] = [];
    let sizeMebibytes = 1;
    const server = await serve(`unix:${socket}`, {
      async *streamContainers() {
        asked.push('stream');
        yield { containers: [{ id: 'streamed' }] };
      },
      listContainers: () => {
        asked.push('plain');
        return { containers: [{ id: 'p'.repeat(sizeMebibytes * 1024 * 1024) }] };
      },
    });
    const client = new CriClient({}, { endpoint: `unix://${socket}`, transport: 'lean' });
    try {
      expect((await client.listContainers({})).containers[0]?.id[0]).toBe('p');
      sizeMebibytes = 17;
      for (let i = 0; i < 2; i++) expect((await client.listContainers({})).containers[0]?.id).toBe('streamed');
      expect(asked).toEqual(['plain', 'plain', 'stream', 'stream']);
      sizeMebibytes = 1;
      expect((await client.listContainers({ filter: { id: 'c' } })).containers[0]?.id[0]).toBe('p');
    } finally {
      await client.close();
      server.stop();
    }
  });
});
