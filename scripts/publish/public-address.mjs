// The public address of the project. Its one place is `repository.url` in package.json; `bugs` and `homepage` begin
// with it.

/** The name that RFC 2606 reserves for addresses that do not exist. */
const placeholder = /\.invalid$/;

/**
 * The problem with the public address of a package, or undefined.
 * @param {{ repository?: { url?: string }, bugs?: { url?: string }, homepage?: string }} manifest the content of
 *   package.json
 */
export function findAddressProblem({ repository, bugs, homepage }) {
  const text = repository?.url?.replace(/^git\+/, '') ?? '';
  if (!URL.canParse(text)) return `repository.url is ${text === '' ? 'not set' : `no address: ${text}`}`;
  const address = text.replace(/\.git$/, '');
  if (placeholder.test(new URL(address).hostname)) return `repository.url is the placeholder ${text}`;
  const others = [bugs?.url ?? '', homepage ?? ''].filter((url) => !url.startsWith(address));
  return others.length === 0 ? undefined : `bugs.url and homepage do not both begin with ${address}`;
}
