import { createHmac, timingSafeEqual } from 'node:crypto';
import type { UserInfo } from '../resources/definition.ts';
import { type ApiFailure, badRequest, conflict, fieldError, invalid, notFound } from './failure.ts';
import { isObject, type JsonObject, listAt, numberAt, objectAt, textAt } from './json.ts';
import type { ServerState } from './state.ts';
import { timestamp } from './time.ts';

const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
/** The kinds of objects to which a token can be bound, with their collections and claims. */
const BOUND: Readonly<
  Record<string, { readonly storage: string; readonly namespaced: boolean; readonly claim: string }>
> = {
  Pod: { storage: 'pods', namespaced: true, claim: 'pod' },
  Secret: { storage: 'secrets', namespaced: true, claim: 'secret' },
  Node: { storage: 'nodes', namespaced: false, claim: 'node' },
};

/**
 * Issues and verifies service account tokens: JSON web tokens that only this server can verify. A token is valid until
 * it expires, and only while its account and bound object exist.
 */
export class TokenIssuer {
  readonly #state: ServerState;
  readonly #key: string;
  readonly #audiences: readonly string[];

  constructor(state: ServerState, audiences: readonly string[]) {
    this.#state = state;
    this.#key = state.uid();
    this.#audiences = audiences;
  }

  /**
   * Handles a `TokenRequest` (`pkg/registry/core/serviceaccount/storage/token.go`).
   * @throws ApiFailure 400, 404, 409, 422
   */
  request(namespace: string, name: string, body: unknown): JsonObject {
    const request = isObject(body) ? body : {};
    const metadata = objectAt(request, 'metadata');
    const spec = objectAt(request, 'spec');
    this.#checkIdentity(namespace, name, metadata);
    const account = this.#state.store.get('serviceaccounts', `${namespace}/${name}`);
    if (account === undefined) throw notFound({ group: '', plural: 'serviceaccounts' }, name);
    const uid = textAt(account, 'metadata', 'uid');
    const sentUid = textAt(metadata, 'uid');
    if (sentUid !== '' && sentUid !== uid) {
      const why = `the UID in the token request (${sentUid}) does not match the UID of the service account (${uid})`;
      throw conflict({ group: 'authentication.k8s.io', plural: 'TokenRequest' }, name, why);
    }
    const seconds = numberAt(spec, 'expirationSeconds') ?? 3600;
    checkExpiration(seconds);
    const audiences = listAt(spec, 'audiences').map(String);
    const bound = isObject(spec.boundObjectRef) ? this.#bind(namespace, name, spec.boundObjectRef) : {};
    const nowMs = this.#state.clock.now();
    const now = Math.floor(nowMs / 1000);
    const claims = {
      aud: audiences.length > 0 ? audiences : this.#audiences,
      exp: now + seconds,
      iat: now,
      iss: ISSUER,
      jti: this.#state.uid(),
      'kubernetes.io': { namespace, ...bound, serviceaccount: { name, uid } },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    };
    return {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, uid, creationTimestamp: timestamp(nowMs) },
      spec: { ...spec, audiences: claims.aud, expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
      status: { token: this.#sign(claims), expirationTimestamp: timestamp((now + seconds) * 1000) },
    };
  }

  /**
   * Returns the user of a token and its audiences. Returns `undefined` if the token was not issued by this server or is
   * no longer valid.
   */
  verify(
    token: string,
    audiences: readonly string[] = this.#audiences,
  ): { user: UserInfo; audiences: string[] } | undefined {
    const claims = this.#read(token);
    if (claims === undefined) return undefined;
    const now = this.#state.clock.now() / 1000;
    const shared = listAt(claims, 'aud')
      .map(String)
      .filter((one) => audiences.includes(one));
    if (shared.length === 0 || (numberAt(claims, 'exp') ?? 0) <= now) return undefined;
    const own = objectAt(claims, 'kubernetes.io');
    const namespace = textAt(own, 'namespace');
    const name = textAt(own, 'serviceaccount', 'name');
    const uid = textAt(own, 'serviceaccount', 'uid');
    if (!this.#exists('serviceaccounts', `${namespace}/${name}`, uid)) return undefined;
    const extra: Record<string, string[]> = {};
    for (const { storage, namespaced, claim } of Object.values(BOUND)) {
      if (!isObject(own[claim])) continue;
      const [boundName, boundUid] = [textAt(own, claim, 'name'), textAt(own, claim, 'uid')];
      // The token of a pod also names the pod's node, but is not bound to the node.
      const binds = claim !== 'node' || !isObject(own.pod);
      const key = namespaced ? `${namespace}/${boundName}` : boundName;
      if (binds && !this.#exists(storage, key, boundUid)) return undefined;
      extra[`authentication.kubernetes.io/${claim}-name`] = [boundName];
      extra[`authentication.kubernetes.io/${claim}-uid`] = [boundUid];
    }
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
    return { user: { name: textAt(claims, 'sub'), uid, groups, extra }, audiences: shared };
  }

  #checkIdentity(namespace: string, name: string, metadata: JsonObject): void {
    for (const [field, found, wanted] of [
      ['name', textAt(metadata, 'name'), name],
      ['namespace', textAt(metadata, 'namespace'), namespace],
    ] as const) {
      if (found === '' || found === wanted) continue;
      const why = `must match the service account ${field} if specified`;
      throw invalid('authentication.k8s.io', 'TokenRequest', name, [
        fieldError('Invalid value', `metadata.${field}`, why, found),
      ]);
    }
  }

  #bind(namespace: string, account: string, ref: JsonObject): JsonObject {
    const [kind, name, uid] = [textAt(ref, 'kind'), textAt(ref, 'name'), textAt(ref, 'uid')];
    const bound = Object.hasOwn(BOUND, kind) ? BOUND[kind] : undefined;
    if (bound === undefined)
      throw badRequest(`cannot bind token to object of type ${textAt(ref, 'apiVersion')}, Kind=${kind}`);
    const found = this.#state.store.get(bound.storage, bound.namespaced ? `${namespace}/${name}` : name);
    if (found === undefined) throw notFound({ group: '', plural: bound.storage }, name);
    if (kind === 'Pod' && textAt(found, 'spec', 'serviceAccountName') !== account) {
      throw badRequest(
        `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
      );
    }
    const found_uid = textAt(found, 'metadata', 'uid');
    if (uid !== '' && uid !== found_uid) {
      const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
      throw conflict({ group: '', plural: kind }, name, why);
    }
    const claims: JsonObject = { [bound.claim]: { name, uid: found_uid } };
    const nodeName = kind === 'Pod' ? textAt(found, 'spec', 'nodeName') : '';
    if (nodeName !== '') {
      const node = this.#state.store.get('nodes', nodeName);
      claims.node = { name: nodeName, ...(node === undefined ? {} : { uid: textAt(node, 'metadata', 'uid') }) };
    }
    return claims;
  }

  #exists(storage: string, key: string, uid: string): boolean {
    const found = this.#state.store.get(storage, key);
    return found !== undefined && textAt(found, 'metadata', 'uid') === uid;
  }

  #sign(claims: object): string {
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
    return `${signed}.${this.#mac(signed)}`;
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }

  #read(token: string): JsonObject | undefined {
    const [, signed = '', claims = '', mac = ''] = /^([\w-]+\.([\w-]+))\.([\w-]+)$/.exec(token) ?? [];
    const expected = Buffer.from(this.#mac(signed));
    const found = Buffer.from(mac);
    if (signed === '' || found.length !== expected.length || !timingSafeEqual(found, expected)) return undefined;
    const value: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString());
    return isObject(value) ? value : undefined;
  }
}

/** Checks the requested duration of a token. @throws ApiFailure 422 if the duration is too short or too long */
function checkExpiration(seconds: number): void {
  const why =
    seconds < MIN_SECONDS
      ? 'may not specify a duration less than 10 minutes'
      : seconds > MAX_SECONDS
        ? 'may not specify a duration larger than 2^32 seconds'
        : undefined;
  if (why === undefined) return;
  const failure: ApiFailure = invalid('authentication.k8s.io', 'TokenRequest', '', [
    fieldError('Invalid value', 'spec.expirationSeconds', why, seconds),
  ]);
  throw failure;
}
