import { expect, test } from 'vitest';
import { AuthProvider } from '../src/auth-provider.ts';
import { failureOf } from './fixtures.ts';

const provider = { name: 'oidc', config: {} };

function notFound(name: string): () => Promise<never> {
  const message = `Cannot find package '${name}' imported from /app/index.js`;
  return () => Promise.reject(Object.assign(new Error(message), { code: 'ERR_MODULE_NOT_FOUND' }));
}

test('an auth provider fails with a hint to install @kubernetes/client-node if the package is missing', async () => {
  const error = await failureOf(new AuthProvider(provider, notFound('@kubernetes/client-node')).authorization());
  expect(error).toMatchObject({ code: 'CredentialsUnavailable', cause: { code: 'ERR_MODULE_NOT_FOUND' } });
  expect(error.message).toBe(
    'auth provider oidc: the provider needs @kubernetes/client-node, which is not installed: `npm install @kubernetes/client-node` beside this package',
  );
});

test('if a dependency of @kubernetes/client-node is missing, the error names that dependency', async () => {
  const error = await failureOf(new AuthProvider(provider, notFound('openid-client')).authorization());
  expect(error.message).toBe("auth provider oidc: Cannot find package 'openid-client' imported from /app/index.js");
});
