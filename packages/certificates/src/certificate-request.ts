import type { KeyObject } from 'node:crypto';
import { type Clock, every, linkAbort, type Random, withTimeout } from '@node-agent/async';
import { fieldSelector, KubeError, Reflector, type RestClient, resources } from '@node-agent/kube-client';
import type { Logger } from '@node-agent/telemetry';
import { parseCertificates } from './certificate-pair.ts';
import { CertificateError } from './errors.ts';
import { requestName } from './request-name.ts';
import { requestOutcome, type SigningRequestObject } from './request-outcome.ts';
import { isExpired } from './rotation-rules.ts';
import { checkCompatible, makeSigningRequest } from './signing-request.ts';
import type { CertificateSubject } from './subject.ts';
import { type CertificatePurpose, signerOf, usagesOf } from './usages.ts';

/** The client for signing requests. */
export type SigningRequestClient = Pick<RestClient, 'create' | 'get' | 'list' | 'watch'>;

/** The components of {@link requestCertificate}. */
export interface RequestComponents {
  readonly client: SigningRequestClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface CertificateRequest {
  readonly subject: CertificateSubject;
  readonly purpose: CertificatePurpose;
  readonly privateKey: KeyObject;
  /** Maximum wait for the signature, in milliseconds. */
  readonly timeoutMs: number;
}

/** Interval at which the request is read while the watch fails, in milliseconds. */
const LOOK_PERIOD_MS = 10_000;

/**
 * Requests a certificate from the API server and waits until it has been approved and signed. If a killed process made
 * a request with the same key, that request is resumed.
 * @returns the certificate and its chain, in PEM
 * @throws CertificateError `RequestDenied`, `RequestFailed`, `RequestGone`, `RequestIncompatible`, `NotIssued`;
 * KubeError
 */
export async function requestCertificate(
  components: RequestComponents,
  request: CertificateRequest,
  signal: AbortSignal,
): Promise<string> {
  const { clock, logger } = components;
  const { name, uid } = await createOrFind(components, request, signal);
  logger.info({ csr: name }, 'Waiting for the certificate signing request to be approved and signed');
  try {
    return await withTimeout(clock, request.timeoutMs, (linked) => issued(components, name, uid, linked), signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof Error) || !('code' in error) || error.code !== 'Timeout') throw error;
    const message = `certificate signing request ${name} was not signed within ${request.timeoutMs / 1000} s`;
    throw new CertificateError('NotIssued', message, error);
  }
}

async function createOrFind(
  { client, clock, logger }: RequestComponents,
  { subject, purpose, privateKey }: CertificateRequest,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly uid: string }> {
  const usages = usagesOf(purpose, privateKey);
  const name = requestName(subject, usages, privateKey);
  const request = Buffer.from(makeSigningRequest(subject, privateKey)).toString('base64');
  const wanted: SigningRequestObject = {
    metadata: { name },
    spec: { request, signerName: signerOf(purpose), usages: [...usages] },
  };
  let found: SigningRequestObject;
  try {
    found = await client.create(resources.certificateSigningRequests, wanted, {}, signal);
  } catch (error) {
    if (KubeError.from(error).code !== 'AlreadyExists') throw error;
    found = await client.get(resources.certificateSigningRequests, { name }, signal);
    checkReusable(found, wanted, { subject, privateKey }, clock.now());
    logger.info({ csr: name }, 'Resuming an earlier certificate signing request');
  }
  return { name, uid: found.metadata.uid ?? '' };
}

function checkReusable(
  found: SigningRequestObject,
  wanted: SigningRequestObject,
  { subject, privateKey }: Pick<CertificateRequest, 'subject' | 'privateKey'>,
  nowMs: number,
): void {
  const { signerName } = found.spec;
  if (signerName !== wanted.spec.signerName) {
    const differ = `csr signerNames differ: new ${JSON.stringify(signerName)}, orig: ${JSON.stringify(wanted.spec.signerName)}`;
    throw new CertificateError('RequestIncompatible', `retrieved csr is not compatible: ${differ}`);
  }
  checkCompatible(Buffer.from(found.spec.request, 'base64').toString(), subject, privateKey);
  const outcome = requestOutcome(found);
  if (outcome.state !== 'issued') return;
  if (parseCertificates(outcome.certificate).some((certificate) => isExpired(certificate, nowMs))) {
    const message = 'retrieved csr is not compatible: one of the certificates for the CSR has expired';
    throw new CertificateError('RequestIncompatible', message);
  }
}

/** Waits until the certificate is issued, with a watch. While the watch fails, the request is read periodically. */
async function issued(
  { client, clock, random, logger }: RequestComponents,
  name: string,
  uid: string,
  signal: AbortSignal,
): Promise<string> {
  using link = linkAbort(signal);
  const reflector = new Reflector(
    { client, clock, random, logger },
    { resource: resources.certificateSigningRequests, fieldSelector: fieldSelector({ 'metadata.name': name }) },
  );
  const done = Promise.withResolvers<string>();
  const look = (object: SigningRequestObject | undefined): void => {
    try {
      const certificate = certificateIn(object, name, uid);
      if (certificate !== undefined) done.resolve(certificate);
    } catch (error) {
      done.reject(error);
    }
  };
  const follow = async (): Promise<void> => {
    for await (const change of reflector.changes()) {
      if (change.type === 'synced') look(reflector.objects.get(name));
      else look(change.type === 'deleted' ? undefined : change.object);
    }
  };
  const repair = async (linked: AbortSignal): Promise<void> => {
    if (reflector.lastError === undefined) return;
    try {
      look(await client.get(resources.certificateSigningRequests, { name }, linked));
    } catch (error) {
      if (KubeError.from(error).code === 'NotFound') look(undefined);
      else logger.debug({ err: error, csr: name }, 'Failed to read the certificate signing request');
    }
  };
  const tasks = [
    reflector.start(link.signal),
    follow(),
    every(clock, LOOK_PERIOD_MS, repair, link.signal, { immediate: false }),
  ];
  for (const task of tasks) task.catch(done.reject);
  const onAbort = (): void => done.reject(link.signal.reason);
  link.signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await done.promise;
  } finally {
    link.signal.removeEventListener('abort', onAbort);
    link.abort(new Error('the wait for the certificate signing request has ended'));
    await Promise.allSettled(tasks);
  }
}

/**
 * Returns the issued certificate; `undefined` while the request is pending. @throws CertificateError if no certificate
 * will be issued
 */
function certificateIn(object: SigningRequestObject | undefined, name: string, uid: string): string | undefined {
  if (object === undefined) throw new CertificateError('RequestGone', `csr ${JSON.stringify(name)} was deleted`);
  if (object.metadata.uid !== uid) {
    throw new CertificateError('RequestGone', `csr ${JSON.stringify(name)} changed UIDs`);
  }
  const outcome = requestOutcome(object);
  switch (outcome.state) {
    case 'issued':
      return outcome.certificate;
    case 'denied':
    case 'failed': {
      const verb = outcome.state === 'denied' ? 'is denied' : 'failed';
      const message = `certificate signing request ${verb}, reason: ${outcome.reason}, message: ${outcome.message}`;
      throw new CertificateError(outcome.state === 'denied' ? 'RequestDenied' : 'RequestFailed', message);
    }
    default:
      return undefined;
  }
}
