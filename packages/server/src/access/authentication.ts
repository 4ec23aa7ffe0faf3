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

/** What {@link Authentication} works with. */
export interface AuthenticationComponents {
  readonly clock?: Clock;
  readonly random?: Random;
  /** Who reviews bearer tokens; without, none is taken. */
  readonly reviewer?: Pick<Reviewer, 'reviewToken'>;
  /** The authorities of client certificates; without, none is looked at. */
  readonly authorities?: { readonly fingerprints: ReadonlySet<string> };
}

export interface AuthenticationOptions {
  /** Whether whoever shows nothing is let in, as `system:anonymous`; false by default. */
  readonly anonymous?: boolean;
  /** How long the review of a token is believed, in milliseconds; 2 min by default. One that has failed is not. */
  readonly tokenTtlMs?: number;
}

/** What a request shows of who it is from. */
export interface ShownCredentials {
  readonly certificate: ClientCertificate | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Who asks, or why that is not known. */
export type Identity = { readonly user: UserInfo } | { readonly user?: undefined; readonly problem: string };

/** Finds out who asks: {@link Authentication}, or a program's own. */
export interface Authenticator {
  /**
   * Whoever it does not know is answered with 401, and only the log tells why. So is everybody while it throws, which is logged as an error.
   * @throws the signal's reason
   */
  identify(shown: ShownCredentials, signal: AbortSignal): Promise<Identity>;
}

/**
 * Finds out who asks, as upstream's delegating authenticator (`k8s.io/apiserver/pkg/authentication/authenticatorfactory`): by
 * client certificate, else by bearer token; any that is good is enough. Whoever shows something that is not good is refused,
 * and is not anonymous.
 */
export class Authentication implements Authenticator {
  readonly #components: WithDefaults<AuthenticationComponents>;
  readonly #anonymous: boolean;
  readonly #reviews: ReviewCache<TokenReviewStatus>;

  /** @throws ServerError `InvalidOptions` where nobody could be let in, as upstream */
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
    // What kept a token from being reviewed may be over by the next time: upstream does not keep that either (`cacheErrs`).
    const ttlMs = ({ authenticated, error }: TokenReviewStatus) => (!authenticated && error ? 0 : tokenTtlMs);
    this.#reviews = new ReviewCache(components, { ttlMs });
  }

  /** Never throws but for the signal: what goes wrong is a problem of the request. */
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
    if (reviewer === undefined) return { problem: 'bearer tokens are not taken' };
    // Of a token only a hash is kept (W4).
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
