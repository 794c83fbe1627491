/** `pods`: what is bound. `events`: what schedulers have said, which everybody can write who may create Events. */
export const BINDING_SOURCES = ['pods', 'events'] as const;
export type BindingSource = (typeof BINDING_SOURCES)[number];
