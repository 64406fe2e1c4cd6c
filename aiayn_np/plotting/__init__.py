"""Attention as pictures and tables.

Public names, by the file that defines them:

    figures          draw_grid, draw_map, draw_spread, load_matplotlib, log_ticks, new_figure,
                     plot_attention, plot_attention_grid, plot_loss, plot_positional_encoding,
                     plot_signed, save_figure
    maps             attention_maps, attention_masks
    tracing          Trace, trace
"""
