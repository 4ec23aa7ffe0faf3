/**
 * Returns whether the build environment can attest what it builds. npm then requests a token from the environment and
 * signs the origin of the tarball. True on GitHub Actions with `id-token: write`, and on GitLab CI with a
 * `SIGSTORE_ID_TOKEN`.
 */
export function givesProvenance(env: Readonly<Record<string, string | undefined>>): boolean {
  const github = env.GITHUB_ACTIONS === 'true' && Boolean(env.ACTIONS_ID_TOKEN_REQUEST_URL);
  const gitlab = env.GITLAB_CI === 'true' && Boolean(env.SIGSTORE_ID_TOKEN);
  return github || gitlab;
}
