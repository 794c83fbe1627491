/** Turns the content of a document of one version into that of the next. Pure; gets what the checksum has vouched for. */
export type Migration = (content: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** `MIGRATIONS[n - 1]` leads from version n to version n + 1. Nothing precedes version 1 yet. */
const MIGRATIONS: readonly Migration[] = [];

/** Applies, one after the other, the steps that lead from the given version to the present one. */
export function migrate(
  content: Readonly<Record<string, unknown>>,
  version: number,
  migrations: readonly Migration[] = MIGRATIONS,
): Readonly<Record<string, unknown>> {
  return migrations.slice(version - 1).reduce((migrated, step) => step(migrated), content);
}
