import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { freePorts } from '@node-agent/tools-ports';
import { defaultRunDir } from './places.ts';

/** The kubelet's ports: `readOnlyPort`, `healthzPort`, `--dashboard-port`. */
type Ports = readonly [readOnly: number, healthz: number, dashboard: number];

/** The default `readOnlyPort` and `healthzPort` of the kubelet, and a port near them that no Kubernetes component uses. */
const USUAL: Ports = [10_255, 10_248, 10_247];
const FIRST = 12_000;
const COUNT = 6_000;

/**
 * Returns the ports for the kubelet of a run directory: the usual ports for the default directory, else three ports
 * derived from the directory's name.
 */
export function wantedPorts(runDir: string): Ports {
  if (runDir === defaultRunDir({ uid: 0, xdgRuntimeDir: undefined, tmpDir: '' })) return USUAL;
  const port = FIRST + 3 * (createHash('sha256').update(runDir).digest().readUInt32BE(0) % COUNT);
  return [port, port + 1, port + 2];
}

/** Returns the ports of a run directory, or free ports if one of them is in use. */
export async function portsFor(runDir: string): Promise<readonly number[]> {
  const wanted = wantedPorts(runDir);
  const free = await Promise.all(wanted.map(isFree));
  return free.includes(false) ? await freePorts(3) : wanted;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
