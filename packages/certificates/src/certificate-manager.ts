import type { KeyObject } from 'node:crypto';
import {
  abortable,
  type Clock,
  checkComponents,
  checkOptions,
  linkAbort,
  type Random,
  StartOnce,
  sleep,
} from '@node-agent/async';
import { type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type CertificateMetrics, certificateMetrics } from './certificate-metrics.ts';
import type { CertificatePair } from './certificate-pair.ts';
import { requestCertificate, type SigningRequestClient } from './certificate-request.ts';
import type { CertificateStore } from './certificate-store.ts';
import { CertificateError, type CertificateErrorCode } from './errors.ts';
import { type PendingKey, privateKeyPem } from './pending-key.ts';
import { isExpired, retryDelayMs, rotationDeadlineMs, subjectMismatch } from './rotation-rules.ts';
import { type RequestIdentity, requestIdentity, rotationStep } from './rotation-step.ts';
import { type CertificateSubject, sameSubject } from './subject.ts';
import type { CertificatePurpose } from './usages.ts';

/** The components of {@link CertificateManager}. */
export interface CertificateManagerComponents {
  readonly store: Pick<CertificateStore, 'load' | 'save'>;
  readonly pendingKey: Pick<PendingKey, 'get' | 'forget'>;
  /**
   * Returns the client for a signing request. Called before each request. If the function throws, the request counts as
   * failed.
   */
  readonly client: (identity: RequestIdentity) => SigningRequestClient | Promise<SigningRequestClient>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
}

export interface CertificateManagerOptions {
  readonly purpose: CertificatePurpose;
  /**
   * Returns the subject that the certificate should have now, or `undefined` while it is unknown. Call {@link
   * CertificateManager.wake} after changes.
   */
  readonly subject: () => CertificateSubject | undefined;
  /**
   * Whether the certificate is renewed before it expires. If false, only the first certificate is requested. Default:
   * true.
   */
  readonly rotate?: boolean;
  /**
   * Certificate pair that is used, and immediately replaced, if the store has no valid pair. kubeadm supplies such a
   * pair to a control plane's kubelet.
   */
  readonly initialPair?: CertificatePair;
  /** Maximum wait for the signature of a request before the next attempt, in milliseconds. Default: 900,000. */
  readonly requestTimeoutMs?: number;
}

/**
 * Maximum time between checks, in milliseconds. The time is limited, because timers stop while a machine sleeps, and
 * clocks are adjusted.
 */
const LONGEST_SLEEP_MS = 600_000;

/** Time after the issue of a certificate during which it is not replaced if the server rejects it, in milliseconds. */
const REJECT_GRACE_MS = 300_000;

/**
 * Errors after which a CertificateSigningRequest is abandoned. The next request has another key, and therefore another
 * name.
 */
const FINAL: readonly CertificateErrorCode[] = ['RequestDenied', 'RequestFailed', 'RequestIncompatible', 'InvalidPair'];

/**
 * Keeps one certificate valid: loads it from the store, requests a new certificate from the API server before the old
 * one expires or when its subject must change, and stores the new certificate. Failures are counted, logged and
 * retried. An expired certificate stays in use, because the server's clock decides whether it is valid. Source:
 * `client-go/util/certificate/certificate_manager.go`.
 */
export class CertificateManager {
  readonly #components: WithDefaults<CertificateManagerComponents>;
  readonly #options: CertificateManagerOptions;
  readonly #metrics: CertificateMetrics;
  readonly #listeners = new Set<(pair: CertificatePair) => void>();
  readonly #first = Promise.withResolvers<CertificatePair>();
  #pair: CertificatePair | undefined;
  #rotateAtMs = 0;
  #forced = false;
  #isAccepted = true;
  #issuedFor: CertificateSubject | undefined;
  /** Monotonic time at which the current certificate was issued. */
  #issuedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** Request in progress, with the function that abandons it. */
  #request: { readonly subject: CertificateSubject; abandon(): void } | undefined;
  #endSleep: (() => void) | undefined;
  readonly #startOnce = new StartOnce('CertificateManager');

  constructor(given: CertificateManagerComponents, options: CertificateManagerOptions) {
    checkOptions('CertificateManager', options, {
      purpose: ['client', 'server'],
      subject: 'function',
      rotate: 'boolean?',
      initialPair: 'object?',
      requestTimeoutMs: 'positive?',
    });
    checkComponents('CertificateManager', given, {
      store: ['load', 'save'],
      pendingKey: ['get', 'forget'],
      client: 'function',
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#options = options;
    this.#metrics = certificateMetrics(components.metrics, options.purpose);
  }

  /** The certificate pair in use, which may have expired; `undefined` until there is one. */
  get current(): CertificatePair | undefined {
    return this.#pair;
  }

  /** Resolves to the certificate pair in use as soon as there is one. @throws the signal's reason */
  async ready(signal?: AbortSignal): Promise<CertificatePair> {
    return this.#pair ?? (await abortable(this.#first.promise, signal));
  }

  /** Calls `listener` whenever the certificate pair in use changes. @returns a function that removes the listener */
  onChange(listener: (pair: CertificatePair) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Checks now whether the subject has changed. A request in progress for another subject is abandoned. */
  wake(): void {
    if (this.#request !== undefined && !sameSubject(this.#request.subject, this.#options.subject())) {
      this.#request.abandon();
    }
    this.#endSleep?.();
  }

  /**
   * Reports that the server rejected the certificate pair. A new certificate is requested with the bootstrap
   * credentials.
   */
  reject(pair: CertificatePair): void {
    if (pair !== this.#pair || !this.#isAccepted || this.#options.rotate === false) return;
    // If the server rejects a newly issued certificate, no further certificate is requested.
    if (this.#components.clock.monotonic() - this.#issuedAtMs < REJECT_GRACE_MS) return;
    this.#isAccepted = false;
    this.#forced = true;
    this.#components.logger.error({}, 'API server rejected the client certificate; requesting another');
    this.#endSleep?.();
  }

  /** Updates the metric of the remaining validity. Must be called before each scrape. */
  reportTtl(): void {
    const leaf = this.#pair?.leaf;
    const ttlMs = leaf === undefined ? Number.POSITIVE_INFINITY : leaf.notAfterMs - this.#components.clock.now();
    this.#metrics.ttlSeconds.set({}, Math.trunc(ttlMs / 1000));
  }

  /** Runs until `signal` is aborted. Certificate changes and failures are logged. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    try {
      // The store is read until that succeeds: after a temporary disk error, it may still have a certificate, so none
      // must be requested.
      while (!(await this.#load())) {
        await this.#sleep(retryDelayMs(++this.#failures, this.#components.random.next()), signal);
      }
      this.#failures = 0;
      while (!signal.aborted) await this.#round(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    const subject = this.#options.subject();
    const step = rotationStep({
      nowMs: clock.now(),
      pair: this.#pair,
      subject,
      rotateAtMs: this.#rotateAtMs,
      rotate: this.#options.rotate ?? true,
      forced: this.#forced,
      issuedFor: this.#issuedFor,
    });
    if (step.do === 'wait' || subject === undefined) {
      const untilMs = step.do === 'wait' ? step.untilMs : Number.POSITIVE_INFINITY;
      await this.#sleep(Math.min(untilMs - clock.now(), LONGEST_SLEEP_MS), signal);
      return;
    }
    logger.info({ why: step.why }, 'Requesting a certificate');
    if (await this.#renew(subject, signal)) return;
    await this.#sleep(retryDelayMs(this.#failures, this.#components.random.next()), signal);
    // Another process may have stored a certificate pair in the meantime.
    if (this.#pair === undefined || isExpired(this.#pair.leaf, clock.now())) await this.#load();
  }

  /** Requests a new certificate. @returns whether the next round may start immediately */
  async #renew(subject: CertificateSubject, signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#components;
    using link = linkAbort(signal);
    const superseded = new Error("the certificate's subject has changed");
    this.#request = { subject, abandon: () => link.abort(superseded) };
    try {
      const pair = await this.#obtain(subject, link.signal);
      const old = this.#pair;
      this.#issuedFor = subject;
      this.#issuedAtMs = clock.monotonic();
      this.#forced = false;
      this.#adopt(pair);
      if (old !== undefined) {
        this.#metrics.rotationSeconds?.observe({}, Math.max(0, clock.now() - old.leaf.notBeforeMs) / 1000);
      }
      const lacks = subjectMismatch(pair.leaf, subject);
      if (lacks !== undefined) logger.warn({ lacks }, 'The signer left out part of the requested subject');
      // If the new certificate has already expired by this machine's clock, the next request waits for the back-off.
      if (this.#rotateAtMs > clock.now()) this.#failures = 0;
      else this.#failures++;
      return this.#failures === 0;
    } catch (err) {
      signal.throwIfAborted();
      if (link.signal.aborted) return true;
      await this.#failed(err);
      return false;
    } finally {
      this.#request = undefined;
    }
  }

  async #obtain(subject: CertificateSubject, signal: AbortSignal): Promise<CertificatePair> {
    const { store, pendingKey, client: clientOf, clock, random, logger } = this.#components;
    const { purpose, requestTimeoutMs: timeoutMs = 900_000 } = this.#options;
    const privateKey = await this.#newKey();
    const client = await clientOf(requestIdentity(this.#pair, this.#isAccepted, clock.now(), this.#failures));
    const request = { subject, purpose, privateKey, timeoutMs };
    const cert = await requestCertificate({ client, clock, random, logger }, request, signal);
    const pair = await store.save(cert, privateKeyPem(privateKey));
    await pendingKey.forget();
    return pair;
  }

  /**
   * Returns the key for the next certificate. The key must differ from the current key, which a crash may have left as
   * the pending key.
   */
  async #newKey(): Promise<KeyObject> {
    const { pendingKey } = this.#components;
    const key = await pendingKey.get();
    if (this.#pair === undefined || privateKeyPem(key).trim() !== this.#pair.key.trim()) return key;
    await pendingKey.forget();
    return await pendingKey.get();
  }

  async #failed(err: unknown): Promise<void> {
    const { pendingKey, clock, logger } = this.#components;
    this.#failures++;
    this.#metrics.failures.inc({});
    const leaf = this.#pair?.leaf;
    const expired = leaf !== undefined && isExpired(leaf, clock.now());
    const notAfter = leaf === undefined ? undefined : new Date(leaf.notAfterMs).toISOString();
    logger.error(
      { err, failures: this.#failures, notAfter, expired },
      expired
        ? 'Failed to obtain a new certificate; the current one has expired'
        : 'Failed to obtain a new certificate; the current one stays in use',
    );
    if (!(err instanceof CertificateError) || !FINAL.includes(err.code)) return;
    await pendingKey.forget().catch((error: unknown) => {
      logger.warn({ err: error }, 'Failed to remove the pending private key');
    });
  }

  /** Loads the stored certificate pair, or else the initial pair. @returns whether the store could be read */
  async #load(): Promise<boolean> {
    const { store, clock, logger } = this.#components;
    const { initialPair } = this.#options;
    let stored: CertificatePair | undefined;
    try {
      stored = await store.load();
    } catch (err) {
      logger.error({ err }, 'Failed to read the stored certificate');
      return false;
    }
    const isValid = stored !== undefined && !isExpired(stored.leaf, clock.now());
    if (isValid || initialPair === undefined || this.#pair !== undefined) {
      if (stored !== undefined && stored.cert !== this.#pair?.cert) this.#adopt(stored);
      return true;
    }
    this.#forced = true;
    this.#adopt(initialPair);
    try {
      await store.save(initialPair.cert, initialPair.key);
    } catch (err) {
      logger.error({ err }, 'Failed to store the certificate of the kubeconfig');
    }
    return true;
  }

  #adopt(pair: CertificatePair): void {
    const { random, logger } = this.#components;
    this.#pair = pair;
    this.#isAccepted = true;
    this.#rotateAtMs = rotationDeadlineMs(pair.leaf, random.next());
    const { commonName, notAfterMs } = pair.leaf;
    const at = { notAfter: new Date(notAfterMs).toISOString(), rotateAt: new Date(this.#rotateAtMs).toISOString() };
    logger.info({ commonName, ...at }, 'Using certificate');
    this.#first.resolve(pair);
    for (const listener of [...this.#listeners]) listener(pair);
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    using link = linkAbort(signal);
    const woken = new Error('woken');
    this.#endSleep = () => link.abort(woken);
    try {
      await sleep(this.#components.clock, ms, link.signal);
    } catch (error) {
      if (error !== woken) throw error;
    } finally {
      this.#endSleep = undefined;
    }
  }
}
