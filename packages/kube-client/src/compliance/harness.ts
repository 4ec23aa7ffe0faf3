import assert from 'node:assert/strict';
import type { Clock, Random } from '@node-agent/async';
import { silentLogger } from '@node-agent/telemetry';
import { KubeError, type KubeErrorCode } from '../errors.ts';
import { Reflector, type ReflectorOptions } from '../reflector.ts';
import type { KubeObject } from '../resource.ts';
import { resources } from '../resources.ts';
import type { RestClient } from '../rest-client.ts';

/** A `RestClient` of this or another version of the package. */
export type ComplianceClient = Pick<RestClient, keyof RestClient>;

/** The environment of the suite: a client of the server under test, and the clock that client and server use. */
export interface ComplianceOptions {
  /** The client of the server under test, with all permissions. */
  readonly client: ComplianceClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Lets `ms` milliseconds of the clock pass. */
  readonly pause: (ms: number) => Promise<void>;
  /** Namespace of the objects, which is created if it does not exist. Default: `kube-client-compliance`. */
  readonly namespace?: string;
  /** The first and also the longest back-off of the reflectors, in milliseconds. Default: the reflector's defaults. */
  readonly backOffMs?: number;
  /** Breaks all connections of the client. If unset, cases that need `cutConnections` are skipped. */
  readonly cutConnections?: () => Promise<void> | void;
  /**
   * Makes the server forget its history, so that all earlier resource versions are expired. If unset, cases that need
   * `compact` are skipped.
   */
  readonly compact?: () => Promise<void> | void;
  /**
   * Makes the server lose all its data including the resource versions. If unset, cases that need `wipe` are skipped.
   */
  readonly wipe?: () => Promise<void> | void;
}

/** One test case, which any test runner can run. */
export interface ComplianceCase {
  readonly name: string;
  /** @param skip called by the case to skip itself; must throw @throws if client or server behave wrongly */
  run(skip: (reason: string) => never): Promise<void>;
}

/** Helpers for one compliance case. Disposing them ends the reflectors and deletes the case's config maps. */
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

  /** The labels of all objects that the case creates. */
  get labels(): Readonly<Record<string, string>> {
    return { case: this.#prefix };
  }

  /** Creates the namespace if it does not exist. */
  async prepare(): Promise<void> {
    const object = { metadata: { name: this.namespace } };
    await this.client.create(resources.namespaces, object).catch((error: unknown) => {
      if (KubeError.from(error).code !== 'AlreadyExists') throw error;
    });
  }

  name(): string {
    return `${this.#prefix}-${this.#count++}`;
  }

  /** Creates a config map. */
  async configMap(data: Readonly<Record<string, string>> = {}): Promise<ConfigMap> {
    const metadata = { name: this.name(), namespace: this.namespace, labels: this.labels };
    return await this.client.create(resources.configMaps, { metadata, data });
  }

  /** Starts a reflector that runs until the case ends. */
  follow<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
    const { client, clock, random, backOffMs } = this.options;
    const waits = backOffMs === undefined ? {} : { backOffMs, maxBackOffMs: backOffMs };
    const reflector = new Reflector<T>({ client, clock, random, logger: silentLogger }, { ...options, ...waits });
    this.#running.push(reflector.start(this.#stop.signal));
    return reflector;
  }

  /** Waits until a condition holds, for at most 30 s of the clock. */
  async eventually(what: string, holds: () => boolean): Promise<void> {
    for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 50) {
      if (holds()) return;
      await this.options.pause(50);
    }
    assert.fail(`it does not come true: ${what}`);
  }

  /** Waits for a request that must fail with `code`, and returns the error. */
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

/** A config map in wire format. */
export type ConfigMap = NonNullable<(typeof resources.configMaps)['object']>;
