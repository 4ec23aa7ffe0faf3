import { type Clock, checkComponents } from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';
import type { Authenticator, Identity, ShownCredentials } from './authentication.ts';
import type { Authorization } from './authorization.ts';
import { bearerToken } from './bearer-token.ts';
import { RefusalLog } from './refusal-log.ts';
import { requestAttributes } from './request-attributes.ts';
import type { UserInfo } from './user.ts';

/** The components of {@link AccessControl}. */
export interface AccessControlComponents {
  /** Authenticates clients: `Authentication` (client certificates and bearer tokens) or a custom object. */
  readonly authentication: Authenticator;
  /** Authorizes users: `alwaysAllow`, `WebhookAuthorization` or a custom object. */
  readonly authorization: Authorization;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** The authenticated and authorized user, or the reply that rejects the request. */
export type Admission = { readonly user: UserInfo } | { readonly user?: undefined; readonly refusal: Reply };

/**
 * Authenticates and authorizes every request of the secured server before any endpoint handles it (W1). Replies are
 * upstream's (`InstallAuthFilter`, `pkg/kubelet/server/server.go`).
 */
export class AccessControl {
  readonly #components: WithDefaults<AccessControlComponents>;
  readonly #refusals: RefusalLog;

  /**
   * @throws OptionsError naming the component that is missing or lacks its method; with such a component, every request
   * would fail
   */
  constructor(components: AccessControlComponents) {
    checkComponents('AccessControl', components, { authentication: ['identify'], authorization: ['allows'] });
    this.#components = withDefaults(components);
    this.#refusals = new RefusalLog(this.#components);
  }

  /** Checks a request. @param path the decoded path. @throws only the signal's reason */
  async admit(shown: ShownCredentials, method: string, path: string, signal: AbortSignal): Promise<Admission> {
    const { authentication, authorization, logger } = this.#components;
    let identity: Identity;
    try {
      identity = await authentication.identify(shown, signal);
    } catch (err) {
      signal.throwIfAborted();
      // The client gets no error text, because the client is not authenticated yet.
      logger.error({ err, method }, 'Unable to authenticate the request due to an error');
      return { refusal: text(401, 'Unauthorized') };
    }
    if (identity.user === undefined) {
      logger.debug({ problem: identity.problem, method }, 'Unable to authenticate the request');
      // Upstream does not log a request without credentials as an error either (`pkg/kubelet/server/server.go:
      // InstallAuthFilter`).
      if (showsCredentials(shown)) this.#refusals.refused(identity.problem, method);
      return { refusal: text(401, 'Unauthorized') };
    }
    const { user } = identity;
    const { verb, subresources } = requestAttributes(path, method);
    for (const subresource of subresources) {
      try {
        // Only `true` grants access, so that a wrong return value of a custom authorization never does.
        if ((await authorization.allows(user, verb, subresource, signal)) === true) return { user };
      } catch (err) {
        signal.throwIfAborted();
        logger.error({ err, user: user.name, verb, resource: 'nodes', subresource }, 'Authorization error');
        const about = `user=${user.name}, verb=${verb}, resource=nodes, subresource=${subresource}`;
        return { refusal: text(500, `Authorization error (${about})`) };
      }
    }
    logger.debug({ user: user.name, verb, resource: 'nodes', subresources }, 'Forbidden');
    const about = `user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}]`;
    return { refusal: text(403, `Forbidden (${about})\n`) };
  }
}

function showsCredentials({ certificate, headers }: ShownCredentials): boolean {
  return certificate !== undefined || bearerToken(headers) !== undefined;
}
