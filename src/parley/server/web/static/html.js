// Markup as tagged templates. Texts put into them are always texts, never markup.
import htm from "htm";
import { h } from "preact";

export const html = htm.bind(h);
