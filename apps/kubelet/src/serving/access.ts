import type { Clock, Random } from '@node-agent/async';
import type { LoadedConfiguration } from '@node-agent/config';
import {
  Authentication,
  type Authorization,
  alwaysAllow,
  type ClientAuthorities,
  type Reviewer,
  WebhookAuthorization,
} from '@node-agent/server';

/** Components that the program passes to {@link accessOf}. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly reviewer?: Reviewer;
  readonly authorities?: ClientAuthorities;
}

/** Authentication and authorization of the secured server's clients, or the reason why the server cannot be started. */
export type Access =
  | { readonly authentication: Authentication; readonly authorization: Authorization }
  | { readonly authentication?: undefined; readonly because: string };

/**
 * Builds authentication and authorization of the secured server from the configuration, as upstream does (`BuildAuth`,
 * `cmd/kubelet/app/auth.go`). Webhook authentication and authorization need an API server. On a node without one,
 * webhook settings that come from defaults are dropped; then the server may have no method to authenticate any client.
 * Webhook settings that the configuration sets explicitly are an error, as upstream.
 * @throws Error naming the configuration field that needs an API server
 */
export function accessOf(
  { configuration: { authentication, authorization }, origins }: Pick<LoadedConfiguration, 'configuration' | 'origins'>,
  nodeName: string,
  { clock, random, reviewer, authorities }: Components,
): Access {
  const asked = (path: string): boolean => reviewer === undefined && origins.isSet(path);
  if (authentication.webhook.enabled && asked('authentication.webhook.enabled')) {
    throw new Error('authentication.webhook.enabled: no client provided, cannot use webhook authentication');
  }
  // Any mode other than an explicit `AlwaysAllow` is treated as Webhook: an unset mode must not allow everything.
  const isWebhook = authorization.mode !== 'AlwaysAllow';
  if (isWebhook && asked('authorization.mode')) {
    throw new Error('authorization.mode: no client provided, cannot use webhook authorization');
  }
  if (isWebhook && reviewer === undefined) {
    return { because: 'authorization.mode is Webhook, but the node has no API server' };
  }
  const tokens = authentication.webhook.enabled && reviewer !== undefined;
  if (!tokens && authorities === undefined && !authentication.anonymous.enabled) {
    return { because: 'client certificates, tokens and anonymous requests are all disabled' };
  }
  const { cacheAuthorizedTtlMs: allowedTtlMs, cacheUnauthorizedTtlMs: deniedTtlMs } = authorization.webhook;
  return {
    authentication: new Authentication(
      { clock, random, ...(tokens && { reviewer }), ...(authorities && { authorities }) },
      { anonymous: authentication.anonymous.enabled, tokenTtlMs: authentication.webhook.cacheTtlMs },
    ),
    authorization:
      isWebhook && reviewer !== undefined
        ? new WebhookAuthorization({ clock, random, reviewer }, { nodeName, allowedTtlMs, deniedTtlMs })
        : alwaysAllow,
  };
}
