import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { defaultRunDir, placesIn, runDirProblem } from '../src/places.ts';
import { portsFor, wantedPorts } from '../src/ports.ts';

describe('the run directory', () => {
  test.each([
    [{ uid: 0, xdgRuntimeDir: '/run/user/0', tmpDir: '/tmp' }, '/var/lib/node-agent'],
    [{ uid: 7, xdgRuntimeDir: '/run/user/7', tmpDir: '/tmp' }, '/run/user/7/node-agent'],
    [{ uid: 7, xdgRuntimeDir: undefined, tmpDir: '/tmp' }, '/tmp/node-agent-7'],
    [{ uid: 7, xdgRuntimeDir: '', tmpDir: '/tmp' }, '/tmp/node-agent-7'],
  ])('the run directory for %j is %s', (user, expected) => {
    expect(defaultRunDir(user)).toBe(expected);
  });

  test('the run directory may be as long as the paths of its sockets allow, in bytes', () => {
    const longest = 107 - '/containerd/c.sock.ttrpc'.length;
    expect(runDirProblem(`/${'x'.repeat(longest - 1)}`)).toBeUndefined();
    expect(runDirProblem(`/${'x'.repeat(longest)}`)).toMatch(/too long by 1 bytes/);
    expect(runDirProblem(`/${'é'.repeat(longest / 2)}x`)).toMatch(/too long/);
  });

  test('the run directory contains all files of the run', () => {
    const { runDir, ...rest } = placesIn('/r');
    expect(runDir).toBe('/r');
    for (const place of Object.values(rest)) expect(place.startsWith('/r/')).toBe(true);
  });
});

test("a run directory always has the same three ports, and the default one has the kubelet's default ports", () => {
  expect(wantedPorts('/var/lib/node-agent')).toEqual([10_255, 10_248, 10_247]);
  const ports = wantedPorts('/tmp/mine');
  expect(wantedPorts('/tmp/mine')).toEqual(ports);
  expect(wantedPorts('/tmp/other')).not.toEqual(ports);
  const [first, ...others] = ports;
  expect(others).toEqual([first + 1, first + 2]);
  expect(first).toBeGreaterThanOrEqual(12_000);
  expect(first).toBeLessThan(30_000);
});

test('a run directory whose ports are in use gets other ports', async () => {
  const [port] = wantedPorts('/tmp/taken');
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const ports = await portsFor('/tmp/taken');
  server.close();
  expect(ports).toHaveLength(3);
  expect(ports).not.toContain(port);
});
