import type { RequestAttributes } from '../faults/fault.ts';
import type { UserInfo } from '../resources/definition.ts';
import type { HttpRequest } from '../transport.ts';
import { forbidden, unauthorized } from './failure.ts';
import type { Authorizer } from './reviews.ts';
import type { TokenIssuer } from './tokens.ts';

/** Known users, and their permissions. */
export interface GuardOptions {
  readonly tokens?: Readonly<Record<string, UserInfo>>;
  readonly anonymous?: UserInfo | null;
  readonly authorize?: Authorizer;
  readonly audiences: readonly string[];
}

const ADMIN: UserInfo = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** Authenticates and authorizes requests. */
export class Guard {
  readonly #options: GuardOptions;
  readonly #tokens: TokenIssuer;

  constructor(options: GuardOptions, tokens: TokenIssuer) {
    this.#options = options;
    this.#tokens = tokens;
  }

  /**
   * Returns the user of a request.
   * @throws ApiFailure 401
   */
  authenticate({ headers }: HttpRequest): UserInfo {
    const [, token] = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '') ?? [];
    if (token === undefined) {
      const { anonymous = ADMIN } = this.#options;
      if (anonymous === null) throw unauthorized();
      return anonymous;
    }
    const found = this.whose(token, this.#options.audiences);
    if (found === undefined) throw unauthorized();
    return found.user;
  }

  /** Returns the user of a token, and the audiences for which the token is valid. */
  whose(token: string, audiences: readonly string[]): { user: UserInfo; audiences: readonly string[] } | undefined {
    const { tokens = {} } = this.#options;
    const user = Object.hasOwn(tokens, token) ? tokens[token] : undefined;
    return user === undefined ? this.#tokens.verify(token, audiences) : { user, audiences };
  }

  /** Checks that the user may make the request. @throws ApiFailure 403 if the user may not make the request */
  authorize({ verb, group, resource, namespace, name, path }: RequestAttributes, user: UserInfo): void {
    const { authorize } = this.#options;
    if (authorize === undefined) return;
    const [plural = '', subresource = ''] = resource.split('/');
    const verdict = authorize({ user, verb, group, resource: plural, subresource, namespace, name, path });
    if (verdict === true) return;
    const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
    const what =
      resource === ''
        ? `cannot ${verb} path "${path}"`
        : `cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
    const why = verdict === false ? '' : `: ${verdict.denied}`;
    throw forbidden({ group, plural }, name, `User "${user.name}" ${what}${why}`);
  }
}
