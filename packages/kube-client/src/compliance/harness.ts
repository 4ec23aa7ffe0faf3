import assert from 'node:assert/strict';
import type { Clock, Random } from '@node-agent/async';
import { silentLogger } from '@node-agent/telemetry';
import { KubeError, type KubeErrorCode } from '../errors.ts';
import { Reflector, type ReflectorOptions } from '../reflector.ts';
import type { KubeObject } from '../resource.ts';
import { resources } from '../resources.ts';
import type { RestClient } from '../rest-client.ts';

/** A `RestClient`, of this version or of another. */
export type ComplianceClient = Pick<RestClient, keyof RestClient>;

/** What the suite needs: a client of the server, and the clock that both go by. */
export interface ComplianceOptions {
  /** A client that may do everything. */
  readonly client: ComplianceClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Lets `ms` milliseconds of the clock pass. */
  readonly pause: (ms: number) => Promise<void>;
  /** Where objects are made; it is made where it is not there. `kube-client-compliance` where absent. */
  readonly namespace?: string;
  /** The first and the longest wait of the reflectors, in milliseconds; their own where absent. */
  readonly backOffMs?: number;
  /** Breaks all connections of the client. The cases about that are skipped where absent; so it is with the next two. */
  readonly cutConnections?: () => Promise<void> | void;
  /** Has the server forget its history, so that versions before now are expired. */
  readonly compact?: () => Promise<void> | void;
  /** Has the server lose everything, its resource versions included. */
  readonly wipe?: () => Promise<void> | void;
}

/** One case, for any test runner. */
export interface ComplianceCase {
  readonly name: string;
  /** @param skip ends the case as skipped; must throw @throws where client and server do not get on */
  run(skip: (reason: string) => never): Promise<void>;
}

/** What a case works with. */
export class Harness implements AsyncDisposable {
  readonly options: ComplianceOptions;
  readonly client: ComplianceClient;
  readonly namespace: string;
  readonly #prefix: string;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  #count = 0;

  constructor(options: ComplianceOptions, prefix: string) {
    this.options = options;
    this.client = options.client;
    this.namespace = options.namespace ?? 'kube-client-compliance';
    this.#prefix = prefix;
  }

  /** The labels of what the case makes. */
  get labels(): Readonly<Record<string, string>> {
    return { case: this.#prefix };
  }

  /** Sees to the namespace. */
  async prepare(): Promise<void> {
    const object = { metadata: { name: this.namespace } };
    await this.client.create(resources.namespaces, object).catch((error: unknown) => {
      if (KubeError.from(error).code !== 'AlreadyExists') throw error;
    });
  }

  name(): string {
    return `${this.#prefix}-${this.#count++}`;
  }

  /** A config map, made. */
  async configMap(data: Readonly<Record<string, string>> = {}): Promise<ConfigMap> {
    const metadata = { name: this.name(), namespace: this.namespace, labels: this.labels };
    return await this.client.create(resources.configMaps, { metadata, data });
  }

  /** A reflector that runs until the end of the case. */
  follow<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
    const { client, clock, random, backOffMs } = this.options;
    const waits = backOffMs === undefined ? {} : { backOffMs, maxBackOffMs: backOffMs };
    const reflector = new Reflector<T>({ client, clock, random, logger: silentLogger }, { ...options, ...waits });
    this.#running.push(reflector.start(this.#stop.signal));
    return reflector;
  }

  /** Waits, up to half a minute of the clock, until something holds. */
  async eventually(what: string, holds: () => boolean): Promise<void> {
    for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 50) {
      if (holds()) return;
      await this.options.pause(50);
    }
    assert.fail(`it does not come true: ${what}`);
  }

  /** The error that a request must fail with. */
  async refused(code: KubeErrorCode, request: Promise<unknown>): Promise<KubeError> {
    const error = await request.then(
      () => assert.fail(`expected ${code}, but it succeeded`),
      (cause: unknown) => KubeError.from(cause),
    );
    assert.equal(error.code, code, error.message);
    return error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.options.pause(0);
    await Promise.all(this.#running);
    const labelSelector = `case=${this.#prefix}`;
    const { items } = await this.client.list(resources.configMaps, { namespace: this.namespace, labelSelector });
    for (const { metadata } of items) {
      const key = { namespace: this.namespace, name: metadata.name ?? '' };
      await this.client.delete(resources.configMaps, key).catch((error: unknown) => {
        if (KubeError.from(error).code !== 'NotFound') throw error;
      });
    }
  }
}

/** A config map as it is on the wire. */
export type ConfigMap = NonNullable<(typeof resources.configMaps)['object']>;
