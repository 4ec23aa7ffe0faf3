import type { ResourceDefinition } from '../resources/definition.ts';
import { clone, type JsonObject, listAt, metadataOf, numberAt, objectAt, textAt } from './json.ts';
import type { Store } from './store.ts';
import { timestamp } from './time.ts';

/** Signs an approved request. Returns a PEM certificate, or `undefined` if another signer is responsible. */
export type CertificateSigner = (csr: {
  readonly name: string;
  readonly signerName: string;
  /** The certificate request in PEM. */
  readonly request: string;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
}) => string | undefined | Promise<string | undefined>;

/**
 * Removes a namespace that is being deleted if the namespace contains no more objects, as the namespace controller
 * does.
 */
export function removeEmptyNamespace(store: Store, name: string, namespaced: readonly ResourceDefinition[]): void {
  const namespace = store.get('namespaces', name);
  if (namespace === undefined || objectAt(namespace, 'metadata').deletionTimestamp === undefined) return;
  const inhabited = namespaced.some(({ storage }) =>
    [...store.list(storage).keys()].some((key) => key.startsWith(`${name}/`)),
  );
  if (!inhabited && listAt(namespace, 'metadata', 'finalizers').length === 0) store.delete('namespaces', name);
}

/**
 * Calls the signer for an approved certificate signing request and stores the result, as the signing controller does.
 */
export async function signApproved(
  store: Store,
  csr: JsonObject,
  sign: CertificateSigner,
  nowMs: () => number,
): Promise<void> {
  const name = textAt(csr, 'metadata', 'name');
  const types = listAt(csr, 'status', 'conditions').map((one) => textAt(one, 'type'));
  if (!types.includes('Approved') || types.includes('Failed') || textAt(csr, 'status', 'certificate') !== '') return;
  const spec = objectAt(csr, 'spec');
  let certificate: string | undefined;
  let problem: string | undefined;
  try {
    certificate = await sign({
      name,
      signerName: textAt(spec, 'signerName'),
      request: Buffer.from(textAt(spec, 'request'), 'base64').toString(),
      usages: listAt(spec, 'usages').map(String),
      expirationSeconds: numberAt(spec, 'expirationSeconds'),
    });
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  const current = store.get('certificatesigningrequests', name);
  if (current === undefined || textAt(current, 'metadata', 'uid') !== textAt(csr, 'metadata', 'uid')) return;
  const changed = clone(current);
  const status = objectAt(changed, 'status');
  if (certificate !== undefined) status.certificate = Buffer.from(certificate).toString('base64');
  else if (problem !== undefined)
    status.conditions = [...listAt(status, 'conditions'), failedCondition(problem, nowMs())];
  else return;
  changed.status = status;
  metadataOf(changed);
  store.put('certificatesigningrequests', name, changed);
}

function failedCondition(message: string, nowMs: number): JsonObject {
  const now = timestamp(nowMs);
  return {
    type: 'Failed',
    status: 'True',
    reason: 'SigningError',
    message,
    lastUpdateTime: now,
    lastTransitionTime: now,
  };
}
