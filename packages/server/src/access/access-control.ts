import { type Clock, checkComponents } from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';
import type { Authenticator, Identity, ShownCredentials } from './authentication.ts';
import type { Authorization } from './authorization.ts';
import { bearerToken } from './bearer-token.ts';
import { RefusalLog } from './refusal-log.ts';
import { requestAttributes } from './request-attributes.ts';
import type { UserInfo } from './user.ts';

/** What {@link AccessControl} works with. */
export interface AccessControlComponents {
  /** Who asks: `Authentication`, by client certificate and bearer token, or an object of your own. */
  readonly authentication: Authenticator;
  /** Who may what: `alwaysAllow`, `WebhookAuthorization`, or an object of your own. */
  readonly authorization: Authorization;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Who is let in, or the answer to who is not. */
export type Admission = { readonly user: UserInfo } | { readonly user?: undefined; readonly refusal: Reply };

/**
 * The door of the secured server: nobody passes before it is known who asks and that they may (W1). Answers are upstream's
 * (`InstallAuthFilter`, `pkg/kubelet/server/server.go`).
 */
export class AccessControl {
  readonly #components: WithDefaults<AccessControlComponents>;
  readonly #refusals: RefusalLog;

  /** @throws OptionsError naming the component that is missing or lacks its method: without it, every request would fail */
  constructor(components: AccessControlComponents) {
    checkComponents('AccessControl', components, { authentication: ['identify'], authorization: ['allows'] });
    this.#components = withDefaults(components);
    this.#refusals = new RefusalLog(this.#components);
  }

  /** @param path decoded. @throws the signal's reason alone */
  async admit(shown: ShownCredentials, method: string, path: string, signal: AbortSignal): Promise<Admission> {
    const { authentication, authorization, logger } = this.#components;
    let identity: Identity;
    try {
      identity = await authentication.identify(shown, signal);
    } catch (err) {
      signal.throwIfAborted();
      // What it says is not for strangers.
      logger.error({ err, method }, 'Unable to authenticate the request due to an error');
      return { refusal: text(401, 'Unauthorized') };
    }
    if (identity.user === undefined) {
      logger.debug({ problem: identity.problem, method }, 'Unable to authenticate the request');
      // As upstream (`pkg/kubelet/server/server.go: InstallAuthFilter`), a request without credentials is no error.
      if (showsCredentials(shown)) this.#refusals.refused(identity.problem, method);
      return { refusal: text(401, 'Unauthorized') };
    }
    const { user } = identity;
    const { verb, subresources } = requestAttributes(path, method);
    for (const subresource of subresources) {
      try {
        // What is no yes is none: nobody is let in by a word that a program's own authorization gives by mistake.
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
