import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { checkComponents, checkOptions } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';

/** What {@link PendingKey} works with. */
export interface PendingKeyComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'remove' | 'writeFileAtomic'>;
  /** Silent where absent. */
  readonly logger?: Logger;
}

/**
 * The private key of a certificate that is asked for, in a file until the certificate is stored: a kubelet that is killed
 * meanwhile takes up the request it made, rather than making another (`kubelet-client.key.tmp` of upstream's bootstrap).
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

  /** The key that is kept, or a new one (ECDSA, P-256). @throws errors of the file system */
  async get(): Promise<KeyObject> {
    const { fs, logger } = this.#components;
    try {
      const key = createPrivateKey(Buffer.from(await fs.readFile(this.#path)));
      if (key.asymmetricKeyType === 'ec' || key.asymmetricKeyType === 'rsa') return key;
      logger.warn(
        { path: this.#path, type: key.asymmetricKeyType },
        'The pending private key is of no use; a new one is made',
      );
    } catch (err) {
      if (!isMissing(err))
        logger.warn({ err, path: this.#path }, 'The pending private key is of no use; a new one is made');
    }
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await fs.mkdir(this.#directory);
    await fs.writeFileAtomic(this.#path, privateKeyPem(privateKey), { mode: 0o600 });
    return privateKey;
  }

  /** The next key is a new one. */
  async forget(): Promise<void> {
    try {
      await this.#components.fs.remove(this.#path);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

/** A private key in the PEM that upstream writes: `EC PRIVATE KEY`, `RSA PRIVATE KEY`. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: key.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'sec1', format: 'pem' }).toString();
}
