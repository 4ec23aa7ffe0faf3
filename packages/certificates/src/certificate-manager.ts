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

/** What {@link CertificateManager} works with. */
export interface CertificateManagerComponents {
  readonly store: Pick<CertificateStore, 'load' | 'save'>;
  readonly pendingKey: Pick<PendingKey, 'get' | 'forget'>;
  /** Who to ask with; asked for before each request. What it throws is a failure of that request. */
  readonly client: (identity: RequestIdentity) => SigningRequestClient | Promise<SigningRequestClient>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
}

export interface CertificateManagerOptions {
  readonly purpose: CertificatePurpose;
  /** What the certificate shall be for, as of now; `undefined` while it is not known. {@link CertificateManager.wake} tells of changes. */
  readonly subject: () => CertificateSubject | undefined;
  /** Whether it is replaced in time; true where absent. Otherwise only a first one is asked for. */
  readonly rotate?: boolean;
  /** Used, and replaced at once, where the store has none that is valid: what kubeadm gives a control plane's kubelet. */
  readonly initialPair?: CertificatePair;
  /** How long a request is waited for before it is looked at anew; 900,000 where absent. */
  readonly requestTimeoutMs?: number;
}

/** It looks so often whether it must do something, for timers stand still while a machine sleeps, and clocks are set. */
const LONGEST_SLEEP_MS = 600_000;

/** So long a new certificate is not replaced for being refused. */
const REJECT_GRACE_MS = 300_000;

/** After these the request of that name is of no use: the next one is made with another key. */
const FINAL: readonly CertificateErrorCode[] = ['RequestDenied', 'RequestFailed', 'RequestIncompatible', 'InvalidPair'];

/**
 * Keeps one certificate valid: takes it from the store, asks the API server for another before it expires or when it must be
 * for something else, and stores that. Whatever fails is counted, logged and tried again; the certificate that there is stays
 * in use, an expired one too, for the server's clock decides. Source: `client-go/util/certificate/certificate_manager.go`.
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
  /** By the monotonic clock. */
  #issuedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** What is being asked for, and how to stop that. */
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

  /** The pair in use, which may have expired; `undefined` before there is one. */
  get current(): CertificatePair | undefined {
    return this.#pair;
  }

  /** The pair in use, as soon as there is one. @throws the signal's reason */
  async ready(signal?: AbortSignal): Promise<CertificatePair> {
    return this.#pair ?? (await abortable(this.#first.promise, signal));
  }

  /** Calls `listener` whenever another pair is in use. @returns ends that */
  onChange(listener: (pair: CertificatePair) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What the certificate shall be for may have changed: looks now. A request for something else is not waited for. */
  wake(): void {
    if (this.#request !== undefined && !sameSubject(this.#request.subject, this.#options.subject())) {
      this.#request.abandon();
    }
    this.#endSleep?.();
  }

  /** The server does not accept the pair: another is asked for, with the credentials that one begins with. */
  reject(pair: CertificatePair): void {
    if (pair !== this.#pair || !this.#isAccepted || this.#options.rotate === false) return;
    // A server that refuses what was issued just now is asked for no more of it.
    if (this.#components.clock.monotonic() - this.#issuedAtMs < REJECT_GRACE_MS) return;
    this.#isAccepted = false;
    this.#forced = true;
    this.#components.logger.error({}, 'The API server does not accept the client certificate; another is asked for');
    this.#endSleep?.();
  }

  /** Sets the metric that tells how long the pair is valid: to be called before each scrape. */
  reportTtl(): void {
    const leaf = this.#pair?.leaf;
    const ttlMs = leaf === undefined ? Number.POSITIVE_INFINITY : leaf.notAfterMs - this.#components.clock.now();
    this.#metrics.ttlSeconds.set({}, Math.trunc(ttlMs / 1000));
  }

  /** Runs until `signal` is aborted; what it does to certificates that is to be known is in the log. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    try {
      // A disk that fails for a moment is no reason to ask for a certificate that there may be.
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
    logger.info({ why: step.why }, 'Asking for a certificate');
    if (await this.#renew(subject, signal)) return;
    await this.#sleep(retryDelayMs(this.#failures, this.#components.random.next()), signal);
    // Meanwhile somebody may have put a pair there.
    if (this.#pair === undefined || isExpired(this.#pair.leaf, clock.now())) await this.#load();
  }

  /** @returns whether the next round may come at once */
  async #renew(subject: CertificateSubject, signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#components;
    using link = linkAbort(signal);
    const superseded = new Error('the certificate shall be for something else now');
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
      if (lacks !== undefined) logger.warn({ lacks }, 'The signer left out some of what was asked for');
      // A certificate that is over when it comes, by this machine's clock, must not be asked for without a pause.
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

  /** The key for the next certificate: never that of the present one, which a crash may have left there. */
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
        ? 'The certificate has expired, and no new one can be had'
        : 'No new certificate can be had; the one that there is stays in use',
    );
    if (!(err instanceof CertificateError) || !FINAL.includes(err.code)) return;
    await pendingKey.forget().catch((error: unknown) => {
      logger.warn({ err: error }, 'The pending private key cannot be removed');
    });
  }

  /** @returns whether it is known what is stored */
  async #load(): Promise<boolean> {
    const { store, clock, logger } = this.#components;
    const { initialPair } = this.#options;
    let stored: CertificatePair | undefined;
    try {
      stored = await store.load();
    } catch (err) {
      logger.error({ err }, 'The stored certificate cannot be read');
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
      logger.error({ err }, 'The certificate of the kubeconfig cannot be stored');
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
    logger.info({ commonName, ...at }, 'A certificate is in use');
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
