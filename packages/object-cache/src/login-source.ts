import { createHash } from 'node:crypto';
import { goJson } from '@node-agent/pod-spec';
import type { ConfiguredLogin, DockerConfig, LoginSource, RegistryLogin } from './docker-config.ts';

/**
 * What tells a login of a secret from others in the records of pulls (KEP-2535), and does not tell the login: the hash of
 * the JSON that upstream's kubelet makes of it (`hashAuthConfig` of `pkg/credentialprovider/keyring.go`).
 */
export function credentialHash({ username, password, email = '' }: ConfiguredLogin): string {
  const present = Object.entries({ username, password, email }).filter(([, value]) => value !== '');
  return createHash('sha256')
    .update(goJson(Object.fromEntries(present)))
    .digest('hex');
}

/** The logins of a configuration by registry, each with whose it is. */
export function loginsWithSource(
  config: DockerConfig,
  sourceOf: (login: ConfiguredLogin) => LoginSource | undefined,
): readonly (readonly [registry: string, login: RegistryLogin])[] {
  return [...config].map(([registry, login]) => {
    const { username, password } = login;
    const source = sourceOf(login);
    return [registry, { username, password, ...(source && { source }) }];
  });
}
