import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { type Gauge, type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { PulledRecord } from './pull-record.ts';
import { decodeIntent, decodeRecord, encodeIntent, encodeRecord } from './pull-record-format.ts';

/** Components of `PullRecordFiles`. */
export interface PullRecordFilesComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
}

/**
 * Size limit of a record, in bytes: room for tens of thousands of credentials. A larger file was not written by a
 * kubelet.
 */
const MAX_BYTES = 16 * 1024 * 1024;
const RECORD_NAME = /^sha256-[0-9a-f]{64}$/;

/**
 * The pull records on disk: `<root>/image_manager/pulling` and `pulled`, one file per image, named by the hash of the
 * image. Format and location are upstream's, so the Go kubelet and this kubelet can continue with each other's files.
 */
export class PullRecordFiles {
  readonly #components: WithDefaults<PullRecordFilesComponents>;
  readonly #pulling: string;
  readonly #pulled: string;
  readonly #intents: Gauge;
  readonly #records: Gauge;

  /** Creates the access to the pull records. @param rootDirectory root directory of the kubelet */
  constructor(given: PullRecordFilesComponents, rootDirectory: string) {
    const components = withDefaults(given);
    this.#components = components;
    this.#pulling = join(rootDirectory, 'image_manager', 'pulling');
    this.#pulled = join(rootDirectory, 'image_manager', 'pulled');
    this.#intents = components.metrics.gauge({
      name: 'kubelet_imagemanager_ondisk_pullintents',
      help: 'Number of image pulls with a record on disk that have not ended.',
    });
    this.#records = components.metrics.gauge({
      name: 'kubelet_imagemanager_ondisk_pulledrecords',
      help: 'Number of pulled images with a record on disk.',
    });
  }

  async writeIntent(image: string): Promise<void> {
    await this.#write(this.#pulling, image, encodeIntent(image));
    await this.#count(this.#pulling, this.#intents);
  }

  /** Returns whether there is an intent to pull the image. @throws Error if the record exists but cannot be read */
  async hasIntent(image: string): Promise<boolean> {
    const text = await this.#read(join(this.#pulling, fileName(image)));
    return text !== undefined && decodeIntent(text) === image;
  }

  async deleteIntent(image: string): Promise<void> {
    await this.#remove(join(this.#pulling, fileName(image)));
    await this.#count(this.#pulling, this.#intents);
  }

  /** Returns the images of all intents. Files that cannot be read are logged. */
  listIntents(): Promise<readonly string[]> {
    return this.#list(this.#pulling, decodeIntent);
  }

  async writeRecord(record: PulledRecord): Promise<void> {
    await this.#write(this.#pulled, record.imageRef, encodeRecord(record));
    await this.#count(this.#pulled, this.#records);
  }

  /** Returns the record of a pulled image; `undefined` if there is none. @throws Error if the record cannot be read */
  async readRecord(imageRef: string): Promise<PulledRecord | undefined> {
    const text = await this.#read(join(this.#pulled, fileName(imageRef)));
    const record = text === undefined ? undefined : decodeRecord(text);
    return record?.imageRef === imageRef ? record : undefined;
  }

  async deleteRecord(imageRef: string): Promise<void> {
    await this.#remove(join(this.#pulled, fileName(imageRef)));
    await this.#count(this.#pulled, this.#records);
  }

  /** Returns all records. Files that cannot be read are logged. */
  listRecords(): Promise<readonly PulledRecord[]> {
    return this.#list(this.#pulled, decodeRecord);
  }

  async #list<T>(directory: string, decode: (text: string) => T): Promise<readonly T[]> {
    const found: T[] = [];
    for (const name of await this.#names(directory)) {
      try {
        const text = await this.#read(join(directory, name));
        if (text !== undefined) found.push(decode(text));
      } catch (err) {
        this.#components.logger.error({ err, file: join(directory, name) }, 'Cannot read a pull record');
      }
    }
    return found;
  }

  async #names(directory: string): Promise<readonly string[]> {
    try {
      const entries = await this.#components.fs.readdir(directory);
      return entries.filter(({ name, kind }) => kind === 'file' && RECORD_NAME.test(name)).map(({ name }) => name);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async #read(path: string): Promise<string | undefined> {
    try {
      return new TextDecoder().decode(await readFileBounded(this.#components.fs, path, MAX_BYTES));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #write(directory: string, key: string, text: string): Promise<void> {
    const { fs } = this.#components;
    await fs.mkdir(directory, { mode: 0o700 });
    await fs.writeFileAtomic(join(directory, fileName(key)), text, { mode: 0o600 });
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#components.fs.remove(path);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  /** Updates the gauge. Errors are only logged, because a slightly outdated value does no harm. */
  async #count(directory: string, gauge: Gauge): Promise<void> {
    try {
      gauge.set({}, (await this.#names(directory)).length);
    } catch (err) {
      this.#components.logger.debug({ err, directory }, 'Cannot count the pull records');
    }
  }
}

function fileName(key: string): string {
  return `sha256-${createHash('sha256').update(key).digest('hex')}`;
}
