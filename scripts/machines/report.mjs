// What was seen in the machines, as text.

const signs = { holds: 'ok', broken: 'BROKEN', later: 'later', 'holds-already': 'ok (sooner)' };

/** One machine's claims, a line each. */
export function formatOutcome({ machine, versions, booted, claims, error, retried, wallMs, cpuMs }) {
  const boot =
    booted === undefined
      ? 'did not come up'
      : `Linux ${booted.kernel}, ${booted.runtime}, up in ${Math.round(booted.seconds)} s`;
  const lines = claims.map(({ claim, outcome, saw, error: why, durationMs }) => {
    const facts = [...saw, ...(why === undefined ? [] : [firstLines(why)])].join('; ');
    return `  ${signs[outcome].padEnd(7)} ${claim.padEnd(26)} ${(durationMs / 1000).toFixed(1).padStart(5)} s  ${facts}`;
  });
  return [
    `${machine.name}: ${boot}, cgroup ${machine.cgroup}, ${machine.runtime} ${versions[machine.runtime]}, ${Math.round(wallMs / 1000)} s (${Math.round(cpuMs / 1000)} s of CPU)`,
    ...lines,
    ...(error === undefined ? [] : [`  FAILED  ${error}`]),
    ...(retried === undefined ? [] : [`  at its second try; the first: ${retried}`]),
  ].join('\n');
}

/** Counts for the run of all tests: each claim on each machine is one; so is a machine that failed. */
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

/** Machines by claims: a Markdown table with one sign in each place. */
export function formatTable(runs) {
  const names = [...new Set(runs.flatMap(({ claims }) => claims.map(({ claim }) => claim)))];
  const row = ({ machine, claims, error }) => [
    machine.name,
    ...names.map((name) => {
      const found = claims.find(({ claim }) => claim === name);
      return found === undefined ? (error === undefined ? '' : '?') : signs[found.outcome];
    }),
  ];
  return formatGrid([['machine', ...names], ...runs.map(row)]);
}

function formatGrid([head, ...rows]) {
  const widths = head.map((_title, column) => Math.max(3, ...[head, ...rows].map((row) => row[column].length)));
  const line = (cells, fill = ' ') =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column], fill)).join(' | ')} |`;
  return [
    line(head),
    line(
      head.map(() => ''),
      '-',
    ),
    ...rows.map((row) => line(row)),
  ].join('\n');
}

function firstLines(text) {
  return text.split('\n').slice(0, 12).join('\n            ');
}

const marks = ['<!-- tables -->', '<!-- end of tables -->'];

/** Puts the tables of a run between the marks of the page. */
export function updateDocument(page, run) {
  const [before, rest] = page.split(marks[0]);
  const after = rest?.split(marks[1])[1];
  if (after === undefined) throw new Error(`the page has no ${marks.join(' … ')}`);
  const tables = [describeRun(run), formatMachines(run.runs), formatClaims(run.runs)];
  return [before, [marks[0], ...tables, marks[1]].join('\n\n'), after].join('');
}

/** The record of a run: each line of each machine, as a page. */
export function formatRecord(run) {
  const machines = run.runs.map(
    (one) => `## ${one.machine.name}\n\n${one.machine.about}\n\n\`\`\`text\n${formatOutcome(one)}\n\`\`\``,
  );
  const title = '# The last run of the machines\n\nWritten by `npm run e2e:machines -- --all --docs`.';
  return `${[title, describeRun(run), ...machines].join('\n\n')}\n`;
}

function describeRun({ runs, wallMs, version }) {
  const date = new Date().toISOString().slice(0, 10);
  const cpuMs = runs.reduce((sum, run) => sum + run.cpuMs, 0);
  const times = `${Math.round(wallMs / 1000)} s by the clock, ${Math.round(cpuMs / 1000)} s of processor time`;
  return `${date}, cpusetd ${version}: ${runs.length} machines in ${times}.`;
}

function formatMachines(runs) {
  return formatGrid([['machine', 'description'], ...runs.map(({ machine: { name, about } }) => [name, about])]);
}

/** Claims by what came out: the names of machines, or `all`. */
function formatClaims(runs) {
  const all = runs.flatMap(({ machine, claims }) => claims.map((claim) => ({ ...claim, on: machine.name })));
  const rows = [...new Set(all.map(({ claim }) => claim))].map((name) => {
    const found = all.filter(({ claim }) => claim === name);
    const shown = [...new Set(found.map(({ outcome }) => outcome))].map((outcome) => {
      const where = found.filter((one) => one.outcome === outcome).map(({ on }) => on);
      const machines = where.length === runs.length ? 'all' : where.join(', ');
      return outcome === 'holds' ? machines : `${signs[outcome]}: ${machines}`;
    });
    return [name, shown.join('; ')];
  });
  return formatGrid([['claim', 'holds on'], ...rows]);
}
