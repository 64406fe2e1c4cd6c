"""Attention as pictures, tables, animations and a page.

Public names, by the file that defines them:

    animation        animate, record
    drawn.attention  attention_gradients, attention_shapes, figure_2
    drawn.heads      heads_split, masks_combined
    drawn.model      figure_1, model_shapes, norm_places
    drawn.sums       clock_hands, dot_products, norm_axes
    drawn.way_back   model_gradients
    figures          draw_grid, draw_map, draw_spread, load_matplotlib, log_ticks, new_figure,
                     plot_attention, plot_attention_grid, plot_loss, plot_positional_encoding,
                     plot_signed, save_figure
    live             NotRunnable, check_runnable, write_live
    maps             attention_maps, attention_masks
    tracing          Trace, trace
"""
