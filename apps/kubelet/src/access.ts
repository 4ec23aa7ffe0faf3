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

/** What the program gives. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly reviewer?: Reviewer;
  readonly authorities?: ClientAuthorities;
}

/** Who the secured server lets in, or why it cannot be. */
export type Access =
  | { readonly authentication: Authentication; readonly authorization: Authorization }
  | { readonly authentication?: undefined; readonly because: string };

/**
 * What the configuration says of who may use the secured server (`BuildAuth`, `cmd/kubelet/app/auth.go`). Where there is no API
 * server, what is asked of one by default is left out, and there may be nobody to let in then; what somebody has written down
 * is an error, as upstream.
 * @throws Error naming the field that cannot hold
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
  // Whoever says nothing of it has not said that everybody may do everything.
  const isWebhook = authorization.mode !== 'AlwaysAllow';
  if (isWebhook && asked('authorization.mode')) {
    throw new Error('authorization.mode: no client provided, cannot use webhook authorization');
  }
  if (isWebhook && reviewer === undefined) {
    return { because: 'authorization.mode is Webhook, and there is no API server to ask' };
  }
  const tokens = authentication.webhook.enabled && reviewer !== undefined;
  if (!tokens && authorities === undefined && !authentication.anonymous.enabled) {
    return { because: 'neither client certificates, nor tokens, nor anonymous requests are let in' };
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
