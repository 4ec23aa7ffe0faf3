import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, test } from 'vitest';
import { parsePair } from '../src/certificate-pair.ts';
import { CertificateStore, type StoreOptions } from '../src/certificate-store.ts';
import { PendingKey } from '../src/pending-key.ts';
import { makePair } from './fixtures.ts';

const directory = '/pki';
const CURRENT = '/pki/kubelet-client-current.pem';

function setUp(options: Partial<StoreOptions> = {}) {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const { logger, lines } = captureLogger();
  const store = new CertificateStore({ fs, clock, logger }, { directory, prefix: 'kubelet-client', ...options });
  return { clock, fs, lines, store };
}

describe('a certificate store', () => {
  test('stores certificate pairs in files with mode 0600, with a symbolic link to the current one', async () => {
    const { fs, store } = setUp();
    expect(await store.load()).toBeUndefined();
    const pair = makePair();
    await store.save(pair.cert, pair.key);
    expect(await store.load()).toEqual(pair);
    expect(await fs.readlink(CURRENT)).toBe('/pki/kubelet-client-2026-01-01-00-00-00.pem');
    expect((await fs.stat(CURRENT)).mode).toBe(0o600);
    expect(store.currentPath).toBe(CURRENT);
  });

  test('refuses to store a certificate with another key, and keeps the current pair', async () => {
    const { store } = setUp();
    const pair = makePair();
    await store.save(pair.cert, pair.key);
    await expect(store.save(makePair().cert, pair.key)).rejects.toMatchObject({ code: 'InvalidPair' });
    expect(await store.load()).toEqual(pair);
  });

  test('keeps the files of the current certificate pair and of two earlier ones', async () => {
    const { clock, fs, store } = setUp();
    for (let count = 0; count < 5; count++) {
      const { cert, key } = makePair();
      await store.save(cert, key);
      await clock.advance(60_000);
    }
    const names = (await fs.readdir(directory)).map(({ name }) => name);
    expect(names).toEqual(
      [2, 3, 4].map((minute) => `kubelet-client-2026-01-01-00-0${minute}-00.pem`).concat('kubelet-client-current.pem'),
    );
  });

  test('K1: after a kill or a full disk at any step of an update, the store has a valid certificate pair', async () => {
    const [old, next] = [makePair(), makePair()];
    for (const operation of [
      'mkdir',
      'open',
      'write',
      'sync',
      'rename',
      'syncDirectory',
      'symlink',
      'remove',
    ] as const) {
      for (const skip of [0, 1]) {
        const { fs, store } = setUp();
        await store.save(old.cert, old.key);
        const fault = fs.injectFault({ code: 'EIO', operation, skip, times: Number.POSITIVE_INFINITY });
        await store.save(next.cert, next.key).catch(() => undefined);
        fault.remove();
        const text = Buffer.from(await fs.readFile(CURRENT)).toString();
        expect([old.cert, next.cert], `${operation} after ${skip}`).toContain(parsePair(text, text).cert);
        const found = await store.load();
        expect([old.cert, next.cert], `${operation} after ${skip}`).toContain(found?.cert);
        await store.save(next.cert, next.key);
        expect((await store.load())?.cert).toBe(next.cert);
      }
    }
  });

  test('K1: the first certificate pair survives a power loss after it was stored', async () => {
    const { fs, store } = setUp();
    const pair = makePair();
    await store.save(pair.cert, pair.key);
    fs.powerLoss();
    expect(await store.load()).toEqual(pair);
  });

  test.each(['', 'half of a ', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'uses the newest earlier certificate pair if the current file is damaged (%j)',
    async (text) => {
      const { clock, fs, lines, store } = setUp();
      const [first, second, third] = [makePair(), makePair(), makePair()];
      for (const { cert, key } of [first, second, third]) {
        await store.save(cert, key);
        await clock.advance(1000);
      }
      await fs.writeFile(CURRENT, text);
      expect(await store.load()).toEqual(second);
      expect(lines.map(({ message }) => message)).toEqual([
        'Ignoring a damaged certificate and key',
        'Ignoring a damaged certificate and key',
        'The current certificate is lost or damaged; using the newest other one',
      ]);
      expect(await fs.readlink(CURRENT)).toBe('/pki/kubelet-client-2026-01-01-00-00-01.pem');
    },
  );

  test('finds a certificate pair without its symbolic link, and creates the link again', async () => {
    const { fs, store } = setUp();
    const pair = makePair();
    await store.save(pair.cert, pair.key);
    await fs.remove(CURRENT);
    expect(await store.load()).toEqual(pair);
    expect(await fs.exists(CURRENT)).toBe(true);
  });

  test('an empty store uses the configured certificate files, or else the .crt and .key files in its directory', async () => {
    const { fs, store } = setUp({ fallback: { certFile: '/etc/c.crt', keyFile: '/etc/c.key' } });
    const [given, own, stored] = [makePair(), makePair(), makePair()];
    await fs.mkdir('/etc');
    await fs.mkdir(directory);
    await fs.writeFile('/pki/kubelet-client.crt', own.cert);
    await fs.writeFile('/pki/kubelet-client.key', own.key);
    expect(await store.load()).toEqual(own);
    await fs.writeFile('/etc/c.crt', given.cert);
    await fs.writeFile('/etc/c.key', given.key);
    expect(await store.load()).toEqual(given);
    await store.save(stored.cert, stored.key);
    expect(await store.load()).toEqual(stored);
  });

  test('load throws a disk error instead of reporting an empty store, which would cause a new request', async () => {
    const { fs, store } = setUp();
    fs.injectFault({ code: 'EIO', operation: 'read' });
    const pair = makePair();
    await store.save(pair.cert, pair.key);
    await expect(store.load()).rejects.toMatchObject({ code: 'EIO' });
  });
});

describe('the pending key', () => {
  const make = () => {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    return { fs, key: () => new PendingKey({ fs, logger: silentLogger }, { directory, prefix: 'kubelet-client' }) };
  };
  const FILE = '/pki/kubelet-client.key.tmp';

  test('K1: the pending key is the same after a kill and a power loss, and its file has mode 0600', async () => {
    const { fs, key } = make();
    const first = await key().get();
    fs.powerLoss();
    expect((await key().get()).equals(first)).toBe(true);
    expect((await fs.stat(FILE)).mode).toBe(0o600);
  });

  test('after forget, the next pending key differs; a second forget is harmless', async () => {
    const { key } = make();
    const first = await key().get();
    await key().forget();
    await key().forget();
    expect((await key().get()).equals(first)).toBe(false);
  });

  test('creates a new pending key if its file is damaged', async () => {
    const { fs, key } = make();
    await fs.mkdir(directory);
    await fs.writeFile(FILE, 'half of a');
    const first = await key().get();
    expect((await key().get()).equals(first)).toBe(true);
  });
});
