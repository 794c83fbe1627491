/**
 * The same function, which makes its value once for each object and gives it again without looking. Only for objects that
 * never change: what is made of one is kept for as long as the object is.
 */
export function oncePer<K extends object, V>(make: (from: K) => V): (from: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (from) => {
    let found = made.get(from);
    if (found === undefined) made.set(from, (found = { value: make(from) }));
    return found.value;
  };
}
