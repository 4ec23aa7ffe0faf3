import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import { captureLogger, type LogLine } from '@node-agent/telemetry/testing';
import {
  ConfiguredCredentials,
  type ConnectionConfig,
  type ExecRunner,
  type KubeError,
  NodeTransport,
  nodeExec,
  RestClient,
} from '../src/index.ts';
import { ApiServer, type ServerTls } from './api-server.ts';
import { type KeyPair, Pki } from './pki.ts';

/** The protocols to run a test with: HTTP/1.1 and HTTP/2. */
export const PROTOCOLS: readonly [name: string, http2: boolean][] = [
  ['HTTP/1.1', false],
  ['HTTP/2', true],
];

/** A CA with certificates of a server and two nodes, an untrusted CA, a directory, and the resources to close. */
export interface Fixtures extends AsyncDisposable {
  readonly pki: Pki;
  readonly other: Pki;
  readonly nodeA: KeyPair;
  readonly nodeB: KeyPair;
  readonly directory: string;
  readonly ends: (() => Promise<unknown>)[];
  /** Closes the resources of a test. */
  endTest(): Promise<void>;
  tlsServer(http2?: boolean, settings?: Pick<ServerTls, 'maxConcurrentStreams' | 'allowHTTP1'>): Promise<ApiServer>;
  clientOf(connection: ConnectionConfig, options?: { readonly exec?: ExecRunner; readonly proxy?: URL }): Client;
}

export interface Client {
  readonly clock: FakeClock;
  readonly lines: readonly LogLine[];
  readonly transport: NodeTransport;
  readonly client: RestClient;
}

export async function fixtures(): Promise<Fixtures> {
  const [pki, other] = await Promise.all([Pki.create(), Pki.create()]);
  const serverPair = await pki.issue('kubernetes');
  const [nodeA, nodeB] = [await pki.issue('system:node:a'), await pki.issue('system:node:b')];
  const directory = await mkdtemp(join(tmpdir(), 'kube-client-'));
  const ends: (() => Promise<unknown>)[] = [];
  return {
    pki,
    other,
    nodeA,
    nodeB,
    directory,
    ends,
    async endTest() {
      for (const end of ends.splice(0).reverse()) await end();
    },
    async tlsServer(http2 = false, settings = {}) {
      const server = await ApiServer.start({ pki, pair: serverPair, http2, ...settings });
      ends.push(() => server[Symbol.asyncDispose]());
      return server;
    },
    clientOf(connection, { exec = nodeExec, proxy } = {}) {
      const clock = new FakeClock();
      const { logger, lines } = captureLogger();
      const components = { fs: nodeFileSystem, clock, logger, exec, environment: { PATH: process.env.PATH } };
      const credentials = new ConfiguredCredentials(components, connection);
      const { server, tlsServerName, skipTlsVerify } = connection.cluster;
      const name = tlsServerName === undefined ? {} : { tlsServerName };
      const options = { server, skipTlsVerify: skipTlsVerify === true, proxy, ...name };
      const transport = new NodeTransport({ clock, logger, credentials }, options);
      ends.push(() => transport[Symbol.asyncDispose]());
      return { clock, lines, transport, client: new RestClient({ transport, clock }) };
    },
    async [Symbol.asyncDispose]() {
      await pki[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A user with a client certificate. */
export function certificate({ cert, key }: KeyPair): ConnectionConfig['user'] {
  return { clientCertificate: { cert: { data: cert }, key: { data: key } } };
}

/** Returns the error that a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<KubeError> {
  return await promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: KubeError) => error,
  );
}
