import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { freePorts } from '@node-agent/tools-ports';
import { defaultRunDir } from './places.ts';

/** Default `readOnlyPort` and `healthzPort` of the kubelet. */
const USUAL: readonly [number, number] = [10_255, 10_248];
const FIRST = 12_000;
const COUNT = 9_000;

/**
 * Returns the ports for the kubelet of a run directory: the default ports for the default directory, else two ports
 * derived from the directory's name.
 */
export function wantedPorts(runDir: string): readonly [number, number] {
  if (runDir === defaultRunDir({ uid: 0, xdgRuntimeDir: undefined, tmpDir: '' })) return USUAL;
  const port = FIRST + 2 * (createHash('sha256').update(runDir).digest().readUInt32BE(0) % COUNT);
  return [port, port + 1];
}

/** Returns the ports of a run directory, or free ports if one of them is in use. */
export async function portsFor(runDir: string): Promise<readonly number[]> {
  const wanted = wantedPorts(runDir);
  const free = await Promise.all(wanted.map(isFree));
  return free.includes(false) ? await freePorts(2) : wanted;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
