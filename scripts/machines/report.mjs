// The results of the machines, as text.

/** @import { Results } from '../test-run/results.mjs' */
/**
 * @typedef {{ claim: string, outcome: keyof typeof signs, saw: string[], error?: string, durationMs: number }} Claim
 */
/**
 * @typedef {object} MachineRun
 * @property {import('./machine.mjs').Machine} machine
 * @property {Record<string, string>} versions by package
 * @property {{ kernel: string, runtime: string, seconds: number } | undefined} booted
 * @property {Claim[]} claims
 * @property {boolean} died QEMU ended by a fault of its own
 * @property {string | undefined} error
 * @property {string | undefined} [retried] the error of the first try
 * @property {number} wallMs
 * @property {number} cpuMs
 */
/** @typedef {{ runs: MachineRun[], wallMs: number, version: string }} WholeRun */

/** Words that no test runner uses for its own lines. */
const signs = { holds: 'held', broken: 'broken', later: 'later', 'holds-already': 'held (sooner)' };

/**
 * One machine's claims, a line each.
 * @param {MachineRun} run
 * @returns {string}
 */
export function formatOutcome({ machine, versions, booted, claims, error, retried, wallMs, cpuMs }) {
  const boot =
    booted === undefined
      ? 'did not come up'
      : `Linux ${booted.kernel}, ${booted.runtime}, up in ${Math.round(booted.seconds)} s`;
  const lines = claims.map((claim) => {
    const { saw, error: why } = claim;
    const facts = [...saw, ...(why === undefined ? [] : [firstLines(why)])].join('; ');
    return `  ${formatClaim(claim)}  ${facts}`;
  });
  return [
    `${machine.name}: ${boot}, cgroup ${machine.cgroup}, ${machine.runtime} ${versions[machine.runtime]}, ${Math.round(wallMs / 1000)} s (${Math.round(cpuMs / 1000)} s of CPU)`,
    ...lines,
    ...(error === undefined ? [] : [`  not looked at: the rest; ${error}`]),
    ...(retried === undefined ? [] : [`  at its second try; the first: ${retried}`]),
  ].join('\n');
}

/**
 * One claim without what it saw.
 * @param {Claim} claim
 * @returns {string}
 */
export function formatClaim({ claim, outcome, durationMs }) {
  return `${signs[outcome].padEnd(7)} ${claim.padEnd(26)} ${(durationMs / 1000).toFixed(1).padStart(5)} s`;
}

/**
 * Counts for the run of all tests: each claim on each machine is one; so is a machine that failed.
 * @param {MachineRun[]} runs
 * @returns {Results}
 */
export function countClaims(runs) {
  const all = runs.flatMap(({ machine, claims }) => claims.map((claim) => ({ ...claim, on: machine.name })));
  const problems = [
    ...all
      .filter(({ outcome }) => outcome === 'broken')
      .map(({ claim, on, error }) => `${claim} on ${on}: ${error?.split('\n')[0]}`),
    ...runs.filter(({ error }) => error !== undefined).map(({ machine, error }) => `${machine.name}: ${error}`),
  ];
  const later = all.filter(({ outcome }) => outcome === 'later');
  return {
    passed: all.filter(({ outcome }) => outcome === 'holds' || outcome === 'holds-already').length,
    failed: problems.length,
    problems,
    notRun: later.map(({ claim, on }) => ({ what: `${claim} on ${on}`, tests: 1, why: 'it is known not to hold yet' })),
  };
}

/** @param {string[][]} rows the first one is the head */
function formatGrid([head = [], ...rows]) {
  const widths = head.map((_title, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  /** @param {string[]} cells @param {string} fill */
  const line = (cells, fill = ' ') =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  return [
    line(head),
    line(
      head.map(() => ''),
      '-',
    ),
    ...rows.map((row) => line(row)),
  ].join('\n');
}

/** @param {string} text */
function firstLines(text) {
  return text.split('\n').slice(0, 12).join('\n            ');
}

/** The places of the tables in the page. @type {[string, string]} */
const marks = ['<!-- tables -->', '<!-- end of tables -->'];

/**
 * Puts the tables of a run between the marks of the page.
 * @param {string} page
 * @param {WholeRun} run
 * @returns {string}
 */
export function updateDocument(page, run) {
  const [before, rest] = page.split(marks[0]);
  const after = rest?.split(marks[1])[1];
  if (after === undefined) throw new Error(`the page has no ${marks.join(' … ')}`);
  const tables = [describeRun(run), formatMachines(run.runs), formatClaims(run.runs)];
  return [before, [marks[0], ...tables, marks[1]].join('\n\n'), after].join('');
}

/**
 * The record of a run: each line of each machine, as a page.
 * @param {WholeRun} run
 * @returns {string}
 */
export function formatRecord(run) {
  const machines = run.runs.map(
    (each) => `## ${each.machine.name}\n\n${each.machine.about}\n\n\`\`\`text\n${formatOutcome(each)}\n\`\`\``,
  );
  const title = '# The last run of the machines\n\nWritten by `npm run e2e:machines -- --all --docs`.';
  return `${[title, describeRun(run), ...machines].join('\n\n')}\n`;
}

/** @param {WholeRun} run */
function describeRun({ runs, wallMs, version }) {
  const date = new Date().toISOString().slice(0, 10);
  const cpuMs = runs.reduce((sum, run) => sum + run.cpuMs, 0);
  const times = `${Math.round(wallMs / 1000)} s by the clock, ${Math.round(cpuMs / 1000)} s of processor time`;
  return `${date}, cpusetd ${version}: ${runs.length} machines in ${times}.`;
}

/** @param {MachineRun[]} runs */
function formatMachines(runs) {
  return formatGrid([['machine', 'description'], ...runs.map(({ machine: { name, about } }) => [name, about])]);
}

/**
 * The machines of each claim by outcome: their names, or `all`.
 * @param {MachineRun[]} runs
 * @returns {string}
 */
export function formatClaims(runs) {
  const all = runs.flatMap(({ machine, claims }) => claims.map((claim) => ({ ...claim, on: machine.name })));
  const rows = [...new Set(all.map(({ claim }) => claim))].map((name) => {
    const found = all.filter(({ claim }) => claim === name);
    const shown = [...new Set(found.map(({ outcome }) => outcome))].map((outcome) => {
      const where = found.filter((each) => each.outcome === outcome).map(({ on }) => on);
      const machines = where.length === runs.length ? 'all' : where.join(', ');
      return outcome === 'holds' ? machines : `${signs[outcome]}: ${machines}`;
    });
    return [name, shown.join('; ')];
  });
  return formatGrid([['claim', 'holds on'], ...rows]);
}
