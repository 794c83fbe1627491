// The licences of what a release contains besides cpusetd itself, as one text.

/**
 * @typedef {{ readonly name: string, readonly version: string, readonly licence: string, readonly notice: string }}
 * Noticed
 */

/**
 * Formats the notices: first a list, then each text once, with the packages that it belongs to.
 * @param {string} what what contains the packages
 * @param {readonly Noticed[]} packages
 * @returns {string}
 */
export function formatNotices(what, packages) {
  const title = (/** @type {Noticed} */ { name, version }) => `${name} ${version}`;
  const width = Math.max(...packages.map((each) => title(each).length));
  /** @type {Map<string, Noticed[]>} */
  const byText = new Map();
  for (const each of packages) byText.set(each.notice, [...(byText.get(each.notice) ?? []), each]);
  const list = packages.map((each) => `${title(each).padEnd(width)}  ${each.licence}`);
  const texts = [...byText].map(
    ([text, members]) => `${'-'.repeat(80)}\n${members.map(title).join('\n')}\n\n${text}\n`,
  );
  return `${what} contains parts of these packages:\n\n${list.join('\n')}\n\n${texts.join('\n')}`;
}
