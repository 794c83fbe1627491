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

const marks = ['<!-- table -->', '<!-- end of table -->'];

/** Puts the last table and what was seen between the marks of the page. */
export function updateDocument(page, { runs, wallMs, version }) {
  const [before, rest] = page.split(marks[0]);
  const after = rest?.split(marks[1])[1];
  if (after === undefined) throw new Error(`the page has no ${marks.join(' … ')}`);
  const date = new Date().toISOString().slice(0, 10);
  const seen = runs.map(
    (run) => `### ${run.machine.name}\n\n${run.machine.about}\n\n\`\`\`text\n${formatOutcome(run)}\n\`\`\``,
  );
  const cpuMs = runs.reduce((sum, run) => sum + run.cpuMs, 0);
  const times = `${Math.round(wallMs / 1000)} s by the clock, ${Math.round(cpuMs / 1000)} s of processor time`;
  const head = `${date}, cpusetd ${version}: ${runs.length} machines in ${times}.`;
  return [
    before,
    marks[0],
    '\n\n',
    head,
    '\n\n',
    formatTable(runs),
    '\n\n',
    seen.join('\n\n'),
    '\n\n',
    marks[1],
    after,
  ].join('');
}
