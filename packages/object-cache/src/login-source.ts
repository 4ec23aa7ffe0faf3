import { createHash } from 'node:crypto';
import { goJson } from '@node-agent/pod-spec';
import type { ConfiguredLogin, DockerConfig, LoginSource, RegistryLogin } from './docker-config.ts';

/**
 * Returns the hash that identifies a secret's login in the records of pulls (KEP-2535) without revealing it: the hash
 * of the JSON that upstream's kubelet generates (`hashAuthConfig` in `pkg/credentialprovider/keyring.go`).
 */
export function credentialHash({ username, password, email = '' }: ConfiguredLogin): string {
  const present = Object.entries({ username, password, email }).filter(([, value]) => value !== '');
  return createHash('sha256')
    .update(goJson(Object.fromEntries(present)))
    .digest('hex');
}

/**
 * Returns the logins of a Docker configuration by registry, each with the Secret or service account that supplied it.
 */
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
