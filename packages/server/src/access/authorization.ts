import { type Clock, checkComponents, checkOptions, type Random } from '@node-agent/async';
import { withDefaults } from '@node-agent/telemetry';
import { checkNumberOptions, ServerError } from '../errors.ts';
import { ReviewCache } from './review-cache.ts';
import { type AccessReviewStatus, accessReviewSpec, type Reviewer } from './reviews.ts';
import type { UserInfo } from './user.ts';

/** Decides whether a user may access a subresource of this node. */
export interface Authorization {
  /**
   * Returns whether access is allowed; only `true` allows it. @throws any error that prevents a decision; the signal's
   * reason
   */
  allows(user: UserInfo, verb: string, subresource: string, signal: AbortSignal): Promise<boolean>;
}

/** The mode `AlwaysAllow`: every authenticated user may do everything. */
export const alwaysAllow: Authorization = { allows: async () => true };

/** The components of {@link WebhookAuthorization}. */
export interface WebhookAuthorizationComponents {
  readonly clock?: Clock;
  readonly random?: Random;
  /** Reviews access: the API server, by SubjectAccessReviews. */
  readonly reviewer: Pick<Reviewer, 'reviewAccess'>;
}

export interface WebhookAuthorizationOptions {
  /** The node whose subresources are accessed. */
  readonly nodeName: string;
  /** How long an allowed decision is cached, in milliseconds. Default: 5 min. */
  readonly allowedTtlMs?: number;
  /** How long a denied decision is cached, in milliseconds. Default: 30 s. */
  readonly deniedTtlMs?: number;
}

/**
 * Maximum length of a review's JSON, in characters. Longer reviews are not cached. Upstream limits the total length of
 * the attributes to the same number (`shouldCache` of its webhook authorizer).
 */
const MAX_KEY_LENGTH = 10_000;

/**
 * The mode `Webhook`: the API server decides by SubjectAccessReviews whether a user has access. Decisions are cached
 * and stay valid while the API server is unreachable.
 */
export class WebhookAuthorization implements Authorization {
  readonly #reviewer: Pick<Reviewer, 'reviewAccess'>;
  readonly #nodeName: string;
  readonly #reviews: ReviewCache<AccessReviewStatus & { readonly isTooLong: boolean }>;

  /** @throws ServerError `InvalidOptions` naming the invalid duration */
  constructor(given: WebhookAuthorizationComponents, options: WebhookAuthorizationOptions) {
    checkOptions('WebhookAuthorization', options, {
      nodeName: 'string',
      allowedTtlMs: 'number?',
      deniedTtlMs: 'number?',
    });
    checkComponents('WebhookAuthorization', given, { reviewer: ['reviewAccess'] });
    const { nodeName, allowedTtlMs = 300_000, deniedTtlMs = 30_000 } = options;
    checkNumberOptions({ allowedTtlMs, deniedTtlMs }, { allowedTtlMs: 'notNegative', deniedTtlMs: 'notNegative' });
    const components = withDefaults(given);
    this.#reviewer = components.reviewer;
    this.#nodeName = nodeName;
    this.#reviews = new ReviewCache(components, {
      ttlMs: ({ allowed, isTooLong }) => (isTooLong ? 0 : allowed ? allowedTtlMs : deniedTtlMs),
    });
  }

  async allows(user: UserInfo, verb: string, subresource: string, signal: AbortSignal): Promise<boolean> {
    const spec = accessReviewSpec(user, this.#nodeName, verb, subresource);
    const key = JSON.stringify(spec);
    const isTooLong = key.length > MAX_KEY_LENGTH;
    const review = async (asking: AbortSignal) => ({ ...(await this.#reviewer.reviewAccess(spec, asking)), isTooLong });
    const { allowed = false, denied = false } = await this.#reviews.ask(key, review, signal);
    if (allowed && denied) {
      throw new ServerError('BadReview', 'webhook subject access review returned both allow and deny response');
    }
    return allowed === true;
  }
}
