import type { CpuSet } from './cpuset';

/** A type field by field, where a field that may be absent is there, and may be undefined. */
type Plain<T> = T extends CpuSet | string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly Plain<E>[]
    : T extends object
      ? { readonly [K in keyof T]-?: Plain<Exclude<T[K], undefined>> | (object extends Pick<T, K> ? undefined : never) }
      : T;

interface Differs {
  readonly 'its fields are not those of the type, or have other types': never;
}

/**
 * `unknown` where both types have the same fields, of the same types, at every depth; else something that no value is.
 */
export type Same<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? unknown : Differs) : Differs;

/**
 * Returns the value. It does not compile where the value's type lacks a field of T, also one that may be absent, or has
 * one more: for whoever copies a value field by field, since the compiler alone does not miss a field that may be
 * absent.
 */
export const whole =
  <T>() =>
  <V>(value: V & Same<V, T>): V =>
    value;
