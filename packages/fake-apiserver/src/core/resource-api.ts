import type { Verb } from '../faults/fault.ts';
import type { ResourceDefinition, UserInfo } from '../resources/definition.ts';
import type { HttpRequest } from '../transport.ts';
import { type Answer, jsonAnswer, warningHeader } from './answer.ts';
import { createObject } from './create.ts';
import { decodeBody, decodeObject, type FieldValidation } from './decode.ts';
import { deleteObject, deletionAnswer, isAccepted, parseDeleteOptions } from './delete.ts';
import { badRequest, fieldError, invalid } from './failure.ts';
import { isObject, type JsonObject, textAt } from './json.ts';
import { parseListOptions } from './list-options.ts';
import { inForm, managerOf, negotiate } from './negotiate.ts';
import { parsePatch } from './patch-request.ts';
import { bindPod, evictPod } from './pod-actions.ts';
import { getObject, listObjects, type Staleness } from './read.ts';
import { type ServerState, served, type Target, type WriteOptions } from './state.ts';
import type { TokenIssuer } from './tokens.ts';
import { updateObject } from './update.ts';

/** A request for a resource. */
export interface ResourceCall {
  readonly request: HttpRequest;
  readonly query: URLSearchParams;
  readonly target: Target;
  readonly user: UserInfo;
  readonly stale: Staleness | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Handles all verbs of resources except watch. */
export class ResourceApi {
  readonly #state: ServerState;
  readonly #tokens: TokenIssuer;
  readonly #namespaced: readonly ResourceDefinition[];

  /** @param namespaced the namespaced kinds, one for each stored collection */
  constructor(state: ServerState, tokens: TokenIssuer, namespaced: readonly ResourceDefinition[]) {
    this.#state = state;
    this.#tokens = tokens;
    this.#namespaced = namespaced;
  }

  /**
   * Handles a request.
   * @throws ApiFailure
   */
  async answer(verb: Verb, call: ResourceCall): Promise<Answer> {
    const form = negotiate(call.request.headers.accept);
    const include = call.query.get('includeObject') ?? 'Metadata';
    const show = (body: JsonObject): JsonObject => inForm(body, form, include, this.#state.clock.now());
    const { definition, namespace } = call.target;
    switch (verb) {
      case 'get': {
        const version = call.query.get('resourceVersion') ?? '';
        return jsonAnswer(200, show(await getObject(this.#state, call.target, version, call.stale, call.signal)));
      }
      case 'list': {
        const options = parseListOptions(call.query, definition, '');
        return jsonAnswer(
          200,
          show(await listObjects(this.#state, definition, namespace, options, call.stale, call.signal)),
        );
      }
      case 'create':
        return this.#create(call, show);
      case 'update':
        return this.#update(call, show);
      case 'patch':
        return this.#patch(call, show);
      case 'delete':
        return this.#delete(call, show);
      case 'deletecollection':
        return this.#deleteCollection(call, show);
      case 'watch':
        throw badRequest('a watch must be served as a stream');
    }
  }

  #create(call: ResourceCall, show: (body: JsonObject) => JsonObject): Answer {
    const { request, query, target } = call;
    const { definition, namespace, name, subresource } = target;
    const body = decodeBody(request.body, request.headers['content-type']);
    const options = writeOptions(call);
    if (subresource === 'binding') return jsonAnswer(201, bindPod(this.#state, target, body, options.dryRun));
    if (subresource === 'eviction') return jsonAnswer(201, evictPod(this.#state, target, body, query));
    if (subresource === 'token') return jsonAnswer(201, this.#tokens.request(namespace, name, body));
    const { object, warnings } = decodeObject(body, definition, fieldValidation(query));
    const stored = createObject(this.#state, definition, namespace, object, options);
    return jsonAnswer(201, show(served(definition, stored)), warningHeader(warnings));
  }

  #update(call: ResourceCall, show: (body: JsonObject) => JsonObject): Answer {
    const { request, query, target } = call;
    const { definition, name } = target;
    const body = decodeBody(request.body, request.headers['content-type']);
    const { object: sent, warnings } = decodeObject(body, definition, fieldValidation(query));
    const called = textAt(sent, 'metadata', 'name');
    if (called !== name) {
      if (called === '')
        throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
      throw badRequest(`the name of the object (${called}) does not match the name on the URL (${name})`);
    }
    const allowCreate = definition.createOnUpdate && target.subresource === '';
    const { object, created } = updateObject(this.#state, target, () => sent, {
      ...writeOptions(call),
      allowCreate,
      uidPrecondition: true,
    });
    return jsonAnswer(created ? 201 : 200, show(served(definition, object)), warningHeader(warnings));
  }

  #patch(call: ResourceCall, show: (body: JsonObject) => JsonObject): Answer {
    const { request, query, target } = call;
    const patch = parsePatch(target, {
      contentType: request.headers['content-type'],
      body: request.body,
      force: query.get('force') === 'true',
      fieldManager: query.get('fieldManager') ?? undefined,
      validation: fieldValidation(query),
      nowMs: this.#state.clock.now(),
    });
    const { object, created } = updateObject(this.#state, target, patch.change, {
      ...writeOptions(call),
      allowCreate: patch.isApply && target.subresource === '',
      managedFieldsDone: patch.isApply,
    });
    return jsonAnswer(created ? 201 : 200, show(served(target.definition, object)));
  }

  #delete(call: ResourceCall, show: (body: JsonObject) => JsonObject): Answer {
    const { definition } = call.target;
    const options = parseDeleteOptions(deleteBody(call.request), call.query);
    const deletion = deleteObject(this.#state, call.target, options);
    if (!options.dryRun && definition.plural === 'namespaces') this.#emptyNamespace(call.target.name);
    const body = deletionAnswer(definition, { ...deletion, object: served(definition, deletion.object) });
    return jsonAnswer(isAccepted(deletion, options) ? 202 : 200, show(body));
  }

  async #deleteCollection(call: ResourceCall, show: (body: JsonObject) => JsonObject): Promise<Answer> {
    const { definition, namespace } = call.target;
    const options = parseDeleteOptions(deleteBody(call.request), call.query);
    const list = await listObjects(
      this.#state,
      definition,
      namespace,
      parseListOptions(call.query, definition, ''),
      undefined,
      call.signal,
    );
    for (const item of Array.isArray(list.items) ? list.items : []) {
      deleteObject(this.#state, targetOf(definition, item), options);
    }
    return jsonAnswer(200, show(list));
  }

  /** Deletes all objects in a namespace gracefully, which is the first step of the namespace controller. */
  #emptyNamespace(namespace: string): void {
    for (const definition of this.#namespaced) {
      for (const [key, object] of [...this.#state.store.list(definition.storage)]) {
        if (key.startsWith(`${namespace}/`)) deleteObject(this.#state, targetOf(definition, object), { dryRun: false });
      }
    }
  }
}

function targetOf(definition: ResourceDefinition, object: unknown): Target {
  const namespace = textAt(object, 'metadata', 'namespace');
  return { definition, namespace, name: textAt(object, 'metadata', 'name'), subresource: '' };
}

function deleteBody({ body, headers }: HttpRequest): unknown {
  const empty = body === undefined || body.length === 0;
  if (empty) return undefined;
  const value = decodeBody(body, headers['content-type']);
  if (!isObject(value)) throw badRequest('decoded object cannot be converted to DeleteOptions');
  return value;
}

function fieldValidation(query: URLSearchParams): FieldValidation {
  const wanted = query.get('fieldValidation') || 'Warn';
  if (wanted === 'Ignore' || wanted === 'Warn' || wanted === 'Strict') return wanted;
  throw invalid('meta.k8s.io', 'CreateOptions', '', [
    fieldError('Unsupported value', 'fieldValidation', 'supported values: "", "Ignore", "Strict", "Warn"', wanted),
  ]);
}

function writeOptions({ request, query, user }: ResourceCall): WriteOptions {
  const dryRun = query.getAll('dryRun');
  const unknown = dryRun.find((one) => one !== 'All');
  if (unknown !== undefined) {
    throw invalid('meta.k8s.io', 'CreateOptions', '', [
      fieldError('Unsupported value', 'dryRun', 'supported values: "All"', unknown),
    ]);
  }
  return { user, dryRun: dryRun.length > 0, manager: managerOf(query, request.headers['user-agent']) };
}
