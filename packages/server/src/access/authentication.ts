import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Clock, checkComponents, checkOptions, type Random } from '@node-agent/async';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { checkNumberOptions, ServerError } from '../errors.ts';
import { bearerToken, type ShownToken } from './bearer-token.ts';
import { type ClientCertificate, judgeCertificate } from './client-certificate.ts';
import { ReviewCache } from './review-cache.ts';
import type { Reviewer, TokenReviewStatus } from './reviews.ts';
import { ANONYMOUS, type UserInfo, withAuthenticatedGroup } from './user.ts';

/** The components of {@link Authentication}. */
export interface AuthenticationComponents {
  readonly clock?: Clock;
  readonly random?: Random;
  /** Reviews bearer tokens. If absent, bearer tokens are not accepted. */
  readonly reviewer?: Pick<Reviewer, 'reviewToken'>;
  /** The authorities of client certificates. If absent, client certificates are ignored. */
  readonly authorities?: { readonly fingerprints: ReadonlySet<string> };
}

export interface AuthenticationOptions {
  /** Whether a client without credentials is accepted as `system:anonymous`. Default: false. */
  readonly anonymous?: boolean;
  /** How long the review of a token is cached, in milliseconds. Default: 2 min. Failed reviews are not cached. */
  readonly tokenTtlMs?: number;
}

/** The credentials of a request. */
export interface ShownCredentials {
  readonly certificate: ClientCertificate | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** The authenticated user, or why authentication failed. */
export type Identity = { readonly user: UserInfo } | { readonly user?: undefined; readonly problem: string };

/** Authenticates clients: {@link Authentication} or a custom implementation. */
export interface Authenticator {
  /**
   * Returns the user of a request. An unknown client gets 401, and the reason is only logged. If the method throws, the
   * client also gets 401, and the error is logged.
   * @throws the signal's reason
   */
  identify(shown: ShownCredentials, signal: AbortSignal): Promise<Identity>;
}

/**
 * Authenticates clients as upstream's delegating authenticator does
 * (`k8s.io/apiserver/pkg/authentication/authenticatorfactory`): by client certificate, otherwise by bearer token. One
 * valid credential is enough. A client with only invalid credentials is rejected and does not become anonymous.
 */
export class Authentication implements Authenticator {
  readonly #components: WithDefaults<AuthenticationComponents>;
  readonly #anonymous: boolean;
  readonly #reviews: ReviewCache<TokenReviewStatus>;

  /**
   * @throws ServerError `InvalidOptions` if the components accept no kind of credential and anonymous requests are
   * disabled, as in upstream
   */
  constructor(given: AuthenticationComponents, options: AuthenticationOptions = {}) {
    checkOptions('Authentication', options, { anonymous: 'boolean?', tokenTtlMs: 'number?' });
    checkComponents('Authentication', given, {});
    const { anonymous = false, tokenTtlMs = 120_000 } = options;
    const components = withDefaults(given);
    const { reviewer, authorities } = components;
    if (!anonymous && reviewer === undefined && authorities === undefined) {
      throw new ServerError('InvalidOptions', 'no authentication method configured');
    }
    checkNumberOptions({ tokenTtlMs }, { tokenTtlMs: 'notNegative' });
    this.#components = components;
    this.#anonymous = anonymous;
    // A failed review is not cached, because its cause may be temporary. Upstream does not cache it either
    // (`cacheErrs`).
    const ttlMs = ({ authenticated, error }: TokenReviewStatus) => (!authenticated && error ? 0 : tokenTtlMs);
    this.#reviews = new ReviewCache(components, { ttlMs });
  }

  /** Returns the user, or the problem with the credentials. Throws only the signal's reason. */
  async identify({ certificate, headers }: ShownCredentials, signal: AbortSignal): Promise<Identity> {
    const problems: string[] = [];
    const { authorities, clock, reviewer } = this.#components;
    if (certificate !== undefined && authorities !== undefined) {
      const verdict = judgeCertificate(certificate, authorities.fingerprints, clock.now());
      if (verdict && 'user' in verdict) return { user: withAuthenticatedGroup(verdict.user) };
      if (verdict) problems.push(`client certificate: ${verdict.problem}`);
    }
    const shown = reviewer && bearerToken(headers);
    if (shown !== undefined) {
      const found = await this.#identifyToken(shown, signal);
      if (found.user !== undefined) return { user: withAuthenticatedGroup(found.user) };
      problems.push(found.problem);
    }
    if (problems.length > 0) return { problem: problems.join('; ') };
    return this.#anonymous ? { user: ANONYMOUS } : { problem: 'no credentials' };
  }

  async #identifyToken(shown: ShownToken, signal: AbortSignal): Promise<Identity> {
    if (shown.token === undefined) return { problem: shown.problem };
    const { token } = shown;
    const { reviewer } = this.#components;
    if (reviewer === undefined) return { problem: 'bearer tokens are not accepted' };
    // Only a hash of the token is kept (W4).
    const key = createHash('sha256').update(token).digest('base64');
    try {
      const review = await this.#reviews.ask(key, (asking) => reviewer.reviewToken(token, asking), signal);
      const { authenticated, user, error } = review;
      if (!authenticated) return { problem: `invalid bearer token${error ? `: ${error}` : ''}` };
      const { username: name = '', uid, groups = [], extra } = user ?? {};
      return { user: { name, ...(uid && { uid }), groups, ...(extra && { extra }) } };
    } catch (error) {
      signal.throwIfAborted();
      return { problem: `bearer token: ${error instanceof Error ? error.message : String(error)}` };
    }
  }
}
