import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { checkComponents, checkOptions } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';

/** The components of {@link PendingKey}. */
export interface PendingKeyComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'remove' | 'writeFileAtomic'>;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/**
 * Private key of a requested certificate, which is kept in a file until the certificate is stored. If the kubelet is
 * killed in the meantime, the next process can resume the request instead of making another (`kubelet-client.key.tmp`
 * in upstream's bootstrap).
 */
export class PendingKey {
  readonly #components: WithDefaults<PendingKeyComponents>;
  readonly #directory: string;
  readonly #path: string;

  constructor(components: PendingKeyComponents, options: { readonly directory: string; readonly prefix: string }) {
    checkOptions('PendingKey', options, { directory: 'string', prefix: 'string' });
    checkComponents('PendingKey', components, { fs: ['mkdir', 'remove', 'writeFileAtomic', 'readFile'] });
    this.#components = withDefaults(components);
    this.#directory = options.directory;
    this.#path = `${options.directory}/${options.prefix}.key.tmp`;
  }

  /** Returns the stored key, or a new one (ECDSA, P-256). @throws errors of the file system */
  async get(): Promise<KeyObject> {
    const { fs, logger } = this.#components;
    try {
      const key = createPrivateKey(Buffer.from(await fs.readFile(this.#path)));
      if (key.asymmetricKeyType === 'ec' || key.asymmetricKeyType === 'rsa') return key;
      logger.warn(
        { path: this.#path, type: key.asymmetricKeyType },
        'Unusable pending private key; generating a new one',
      );
    } catch (err) {
      if (!isMissing(err)) logger.warn({ err, path: this.#path }, 'Unusable pending private key; generating a new one');
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await fs.mkdir(this.#directory);
    await fs.writeFileAtomic(this.#path, privateKeyPem(privateKey), { mode: 0o600 });
    return privateKey;
  }

  /** Removes the stored key, so that the next call of {@link get} creates a new key. */
  async forget(): Promise<void> {
    try {
      await this.#components.fs.remove(this.#path);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

/** Encodes a private key in the PEM format that upstream writes: `EC PRIVATE KEY` or `RSA PRIVATE KEY`. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: key.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'sec1', format: 'pem' }).toString();
}
