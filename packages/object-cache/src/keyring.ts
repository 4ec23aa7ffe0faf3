import type { RegistryLogin } from './docker-config.ts';
import { parseRegistryUrl, registryMatcher } from './registry-url.ts';

/** Matches a host without port and path, the most frequent case. */
const PLAIN = /^[\w.-]+$/;
const DEFAULT_REGISTRY = 'index.docker.io';

/**
 * Logins by registry. An image may be pulled with the logins of all matching registries, the most specific first.
 * Source: `pkg/credentialprovider/keyring.go`, BasicDockerKeyring.
 */
export class Keyring<Login = RegistryLogin> {
  readonly #logins = new Map<string, Login[]>();
  readonly #isKept: (key: string) => boolean;

  /** @param repository keeps only logins for images of this repository. Default: all logins */
  constructor(repository?: string) {
    this.#isKept = repository === undefined ? () => true : isFor(repository);
  }

  /** @returns the invalid registries, which are left out */
  add(logins: Iterable<readonly [registry: string, login: Login]>): readonly string[] {
    const invalid: string[] = [];
    for (const [registry, login] of logins) {
      const key = keyOf(registry);
      if (key === undefined) {
        invalid.push(registry);
        continue;
      }
      if (!this.#isKept(key)) continue;
      const known = this.#logins.get(key) ?? [];
      known.push(login);
      this.#logins.set(key, known);
    }
    return invalid;
  }

  /** @param repository with its registry and without a tag: `docker.io/library/busybox` */
  lookup(repository: string): readonly Login[] {
    const keys = [...this.#logins.keys()].filter(registryMatcher(repository));
    // In descending order, a registry with a path comes before the registry alone.
    const found = keys
      .sort()
      .reverse()
      .flatMap((key) => this.#logins.get(key) ?? []);
    if (found.length > 0 || !isOfDefaultRegistry(repository)) return found;
    return this.#logins.get(DEFAULT_REGISTRY) ?? [];
  }
}

/** Returns a predicate for the keys whose logins may apply to a repository. */
function isFor(repository: string): (key: string) => boolean {
  const isMeant = registryMatcher(repository);
  const isDefault = isOfDefaultRegistry(repository);
  return (key) => isMeant(key) || (isDefault && key === DEFAULT_REGISTRY);
}

/** Returns a registry without scheme and API version: `https://index.docker.io/v1/` becomes `index.docker.io`. */
function keyOf(registry: string): string | undefined {
  if (PLAIN.test(registry)) return registry;
  const url = parseRegistryUrl(registry.replace(/^https?:\/\//, ''));
  if (url === undefined) return undefined;
  const path = url.path.startsWith('/v1/') || url.path.startsWith('/v2/') ? url.path.slice(3) : url.path;
  return path === '/' ? url.host : url.host + path;
}

/** Returns whether a repository is on Docker Hub: its first part is not a host name. */
function isOfDefaultRegistry(repository: string): boolean {
  const slash = repository.indexOf('/');
  if (slash < 0) return repository !== '';
  const first = repository.slice(0, slash);
  if (first === 'docker.io' || first === 'index.docker.io') return true;
  return first !== '' && !/[.:]/.test(first);
}
