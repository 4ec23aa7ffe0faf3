import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePorts } from '../src/index.ts';

test("returns distinct free ports below the kernel's ephemeral ports", async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(10_000);
    expect(port).toBeLessThan(32_768);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  }
});

test('freePorts rejects an address that the machine does not have', async () => {
  await expect(freePorts(1, '192.0.2.1')).rejects.toThrow('EADDRNOTAVAIL');
});
