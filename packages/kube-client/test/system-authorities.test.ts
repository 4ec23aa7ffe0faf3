import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Fixtures, fixtures } from './fixtures.ts';

let f: Fixtures;
beforeAll(async () => {
  f = await fixtures();
});
afterEach(() => f.endTest());
afterAll(() => f[Symbol.asyncDispose]());

test("a server is verified with the machine's trusted CAs if no CA is configured", async () => {
  const server = await f.tlsServer(false);
  const ask = async (environment: Readonly<Record<string, string>>): Promise<string> => {
    const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
    const program = join(import.meta.dirname, 'authorities-program.ts');
    const env = { ...process.env, ...environment };
    return (await promisify(execFile)(process.execPath, [...flags, program, server.url], { env })).stdout;
  };
  expect(await ask({ SSL_CERT_FILE: join(f.pki.directory, 'ca.crt') })).toBe('answered');
  expect(await ask({})).toContain('certificate in certificate chain');
});
